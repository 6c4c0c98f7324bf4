// Marks what libphalanx.so exports; everything else is hidden.
#ifndef PHALANX_EXPORT_H_
#define PHALANX_EXPORT_H_

#define PHALANX_EXPORT __attribute__((visibility("default")))

#endif  // PHALANX_EXPORT_H_
