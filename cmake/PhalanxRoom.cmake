# A room is one folder, one static library and one include root: ROOM/include/ROOM/*.h is what its
# neighbours see, everything else beside the sources is its own. An include of a room that isn't
# linked doesn't compile, which is how the law of the layers is kept.

set(PHALANX_WARNINGS -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
    -Wswitch-enum -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # At -O3 GCC 12 takes members of a std::variant's other alternatives for uninitialised reads, and
  # finds overlapping copies inside of std::string (its bug 105329).
  list(APPEND PHALANX_WARNINGS -Wno-maybe-uninitialized -Wno-restrict)
endif()

# Compile options that every target of the project shares. Contraction is off because a fused
# multiply-add rounds once where the plan says twice, and results must be equal on every machine.
function(phalanx_compile_options target)
  target_compile_options(${target} PRIVATE ${PHALANX_WARNINGS} -ffp-contract=off)
endfunction()

# phalanx_room(NAME SOURCES … [PUBLIC targets…] [PRIVATE targets…])
function(phalanx_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/include/*/*.h)
  add_library(phalanx_${name} STATIC ${ROOM_SOURCES})
  add_library(phalanx::${name} ALIAS phalanx_${name})
  target_sources(phalanx_${name} PUBLIC FILE_SET HEADERS
                 BASE_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/include FILES ${headers})
  target_link_libraries(phalanx_${name} PUBLIC ${ROOM_PUBLIC} PRIVATE ${ROOM_PRIVATE})
  phalanx_compile_options(phalanx_${name})
endfunction()

# phalanx_schema(NAME FILE): FILE.fbs becomes FILE_generated.h, which the room NAME alone includes; it
# stays in the build tree. FlatBuffers is used header-only, so that it can't collide with a copy in the
# host process.
function(phalanx_schema name file)
  find_program(PHALANX_FLATC flatc REQUIRED)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(schema ${CMAKE_CURRENT_SOURCE_DIR}/${file}.fbs)
  add_custom_command(
    OUTPUT ${generated}/${file}_generated.h
    COMMAND ${PHALANX_FLATC} --cpp -o ${generated} ${schema}
    DEPENDS ${schema}
    COMMENT "Generating the messages of ${file}.fbs")
  target_sources(phalanx_${name} PRIVATE ${generated}/${file}_generated.h)
  target_include_directories(phalanx_${name} SYSTEM PRIVATE ${generated})
endfunction()

# phalanx_module(NAME SOURCES … PRIVATE targets…): a library that is opened at run time, so that what
# it needs may be missing. It is lib/phalanx/libphalanx_NAME.so, in the build tree as when installed.
function(phalanx_module name)
  cmake_parse_arguments(MODULE "" "" "SOURCES;PRIVATE" ${ARGN})
  set(target phalanx_${name}_module)
  set(map ${PROJECT_SOURCE_DIR}/cmake/module.map)
  add_library(${target} MODULE ${MODULE_SOURCES})
  target_link_libraries(${target} PRIVATE ${MODULE_PRIVATE})
  target_link_options(${target} PRIVATE -Wl,--version-script=${map})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME phalanx_${name}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/phalanx
    LINK_DEPENDS ${map})
  phalanx_compile_options(${target})
  set_property(GLOBAL APPEND PROPERTY PHALANX_MODULES ${target})
endfunction()

# phalanx_program(NAME SOURCES … PRIVATE targets…)
function(phalanx_program name)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;PRIVATE" ${ARGN})
  add_executable(${name} ${PROGRAM_SOURCES})
  target_link_libraries(${name} PRIVATE ${PROGRAM_PRIVATE})
  phalanx_compile_options(${name})
endfunction()

# phalanx_test(NAME SOURCES … PRIVATE targets… [TIMEOUT seconds] [LABELS …]): one GoogleTest program.
function(phalanx_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;PRIVATE;LABELS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_PRIVATE} GTest::gmock GTest::gtest_main)
  phalanx_compile_options(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}")
endfunction()

# phalanx_fuzzer(NAME SOURCES … PRIVATE targets…): defines LLVMFuzzerTestOneInput; its inputs lie in
# tests/fuzz/corpus/NAME. The fuzz preset makes it a libFuzzer program, the others a test that replays
# the corpus.
function(phalanx_fuzzer name)
  cmake_parse_arguments(FUZZER "" "" "SOURCES;PRIVATE" ${ARGN})
  add_executable(${name} ${FUZZER_SOURCES})
  target_link_libraries(${name} PRIVATE ${FUZZER_PRIVATE})
  phalanx_compile_options(${name})
  if(PHALANX_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzzers)
  else()
    target_link_libraries(${name} PRIVATE phalanx_fuzz_replay)
    add_test(NAME ${name} COMMAND ${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 120)
  endif()
endfunction()
