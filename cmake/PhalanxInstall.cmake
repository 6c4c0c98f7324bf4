# What is installed, and how others find it: libphalanx.so with its modules in phalanx/ beside it, the
# public headers, the `phalanx` command, a CMake package and a pkg-config file. The rooms are linked
# into the library and aren't installed. The tree may be moved as a whole: it holds no absolute path.
if(NOT TARGET phalanx_library)
  return()
endif()
include(CMakePackageConfigHelpers)

set(PHALANX_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Phalanx)
set(PHALANX_MODULE_DIR ${CMAKE_INSTALL_LIBDIR}/phalanx)
get_property(PHALANX_MODULES GLOBAL PROPERTY PHALANX_MODULES)

set(map ${PROJECT_SOURCE_DIR}/cmake/phalanx.map)
target_link_options(phalanx_library PRIVATE -Wl,--version-script=${map})
set_target_properties(phalanx_library PROPERTIES
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}  # 0.x: every minor version may break
  EXPORT_NAME phalanx
  INSTALL_RPATH "$ORIGIN"
  LINK_DEPENDS ${map})
set_target_properties(phalanx_public PROPERTIES EXPORT_NAME public)

install(TARGETS phalanx_library phalanx_public EXPORT PhalanxTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT PhalanxTargets NAMESPACE phalanx:: DESTINATION ${PHALANX_CMAKE_DIR})

if(PHALANX_MODULES)
  set_target_properties(${PHALANX_MODULES} PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/..")
  install(TARGETS ${PHALANX_MODULES} LIBRARY DESTINATION ${PHALANX_MODULE_DIR})
endif()

if(TARGET phalanx_command)
  file(RELATIVE_PATH to_library /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(phalanx_command PROPERTIES INSTALL_RPATH "$ORIGIN/${to_library}")
  install(TARGETS phalanx_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

configure_package_config_file(
  cmake/PhalanxConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/PhalanxConfig.cmake
  INSTALL_DESTINATION ${PHALANX_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/PhalanxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/PhalanxConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/PhalanxConfigVersion.cmake
        DESTINATION ${PHALANX_CMAKE_DIR})

file(RELATIVE_PATH PHALANX_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/phalanx.pc.in ${CMAKE_CURRENT_BINARY_DIR}/phalanx.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/phalanx.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
