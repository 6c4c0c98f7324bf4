// A view as the control plane says it, for those who take part in it.
#ifndef PHALANX_CONTROL_CLIENT_DESCRIPTION_H_
#define PHALANX_CONTROL_CLIENT_DESCRIPTION_H_

#include "control_client/client.h"
#include "control_protocol/message.h"

namespace phalanx::control {

ViewDescription ToDescription(message::View view);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_CLIENT_DESCRIPTION_H_
