# Every outside library is found here, once.
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(flatbuffers CONFIG REQUIRED NAMES flatbuffers FlatBuffers Flatbuffers)
find_package(OpenSSL 3.0 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
if(PHALANX_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

# Debian's Abseil is C++14 inside its package files; the libraries work from C++20 all the same.
find_path(PHALANX_ASIO_INCLUDE_DIR asio.hpp REQUIRED)
add_library(phalanx_asio INTERFACE)
target_include_directories(phalanx_asio SYSTEM INTERFACE ${PHALANX_ASIO_INCLUDE_DIR})
target_link_libraries(phalanx_asio INTERFACE Threads::Threads)
target_compile_definitions(phalanx_asio INTERFACE
  ASIO_STANDALONE ASIO_NO_DEPRECATED
  # ThreadSanitizer can't follow a bare fence; Asio's queues are under locks without them.
  ASIO_DISABLE_FENCED_BLOCK
  # Else the allocator depends on whether a file includes Asio before the standard library, and memory
  # is given back to another one than it came from.
  ASIO_DISABLE_STD_ALIGNED_ALLOC)
add_library(phalanx::asio ALIAS phalanx_asio)

# A transport whose library is missing is left out, with a line that says so.
if(PHALANX_UCX)
  pkg_check_modules(UCX IMPORTED_TARGET ucx)
  if(NOT UCX_FOUND)
    message(WARNING "UCX not found: the ucx transport is left out")
    set(PHALANX_UCX OFF)
  endif()
endif()
if(PHALANX_OFI)
  pkg_check_modules(OFI IMPORTED_TARGET libfabric)
  if(NOT OFI_FOUND)
    message(WARNING "libfabric not found: the ofi transport is left out")
    set(PHALANX_OFI OFF)
  endif()
endif()
if(PHALANX_ETCD)
  pkg_check_modules(GRPC IMPORTED_TARGET grpc++ protobuf)
  find_program(PHALANX_PROTOC protoc)
  find_program(PHALANX_GRPC_PLUGIN grpc_cpp_plugin)
  if(NOT GRPC_FOUND OR NOT PHALANX_PROTOC OR NOT PHALANX_GRPC_PLUGIN)
    message(WARNING "gRPC not found: records in etcd are left out")
    set(PHALANX_ETCD OFF)
  endif()
endif()
