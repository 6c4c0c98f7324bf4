# TEXT as the string kPageHtml in OUTPUT.
file(READ ${TEXT} text)
if(text MATCHES "\\)PAGE\"")
  message(FATAL_ERROR "${TEXT} holds the delimiter )PAGE\"")
endif()
file(WRITE ${OUTPUT}
  "#include \"page_html.h\"\nnamespace phalanx::control {\nconst char kPageHtml[] = R\"PAGE(${text})PAGE\";\n}\n")
