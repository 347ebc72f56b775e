# Writes and installs paraes.spdx.json: an SPDX 2.3 document with the parts that the programs of this
# build contain or load, as the build found them. Its bytes depend on these facts and on
# SOURCE_DATE_EPOCH.
find_package(CLI11 QUIET REQUIRED)
find_package(fmt QUIET REQUIRED)
find_package(nlohmann_json QUIET REQUIRED)

set(spdx_packages "")
set(spdx_relations "")

# spdx_part(NAME VERSION LICENCE SUPPLIER-URL RELATION): RELATION as in SPDX 2.3, clause 11.
function(spdx_part name version licence url relation)
  string(REGEX REPLACE "[^A-Za-z0-9.-]" "-" id "SPDXRef-${name}")
  string(APPEND spdx_packages ",
    {
      \"SPDXID\": \"${id}\",
      \"name\": \"${name}\",
      \"versionInfo\": \"${version}\",
      \"downloadLocation\": \"${url}\",
      \"filesAnalyzed\": false,
      \"licenseConcluded\": \"${licence}\",
      \"licenseDeclared\": \"${licence}\",
      \"copyrightText\": \"NOASSERTION\"
    }")
  string(APPEND spdx_relations ",
    {
      \"spdxElementId\": \"SPDXRef-paraes\",
      \"relationshipType\": \"${relation}\",
      \"relatedSpdxElement\": \"${id}\"
    }")
  set(spdx_packages "${spdx_packages}" PARENT_SCOPE)
  set(spdx_relations "${spdx_relations}" PARENT_SCOPE)
endfunction()

spdx_part(OpenSSL "${OPENSSL_VERSION}" Apache-2.0 https://www.openssl.org DYNAMIC_LINK)
spdx_part(CLI11 "${CLI11_VERSION}" BSD-3-Clause https://github.com/CLIUtils/CLI11 STATIC_LINK)
# The licence's own exception permits programs without its text.
spdx_part(fmt "${fmt_VERSION}" MIT https://github.com/fmtlib/fmt STATIC_LINK)
spdx_part(nlohmann-json "${nlohmann_json_VERSION}" MIT https://github.com/nlohmann/json STATIC_LINK)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(relation DYNAMIC_LINK)
  if(PARAES_STANDALONE)
    set(relation STATIC_LINK)
  endif()
  foreach(name IN ITEMS libstdc++ libgcc)
    spdx_part(${name} "${CMAKE_CXX_COMPILER_VERSION}" "GPL-3.0-or-later WITH GCC-exception-3.1"
      https://gcc.gnu.org ${relation})
  endforeach()
endif()
string(TIMESTAMP spdx_created "%Y-%m-%dT%H:%M:%SZ" UTC)
string(UUID spdx_uuid NAMESPACE 6ba7b811-9dad-11d1-80b4-00c04fd430c8 TYPE SHA1
  NAME "paraes ${PROJECT_VERSION} ${spdx_created} ${spdx_packages} ${spdx_relations}")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/paraes.spdx.json @ONLY CONTENT [[{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "paraes-@PROJECT_VERSION@",
  "documentNamespace": "urn:uuid:@spdx_uuid@",
  "creationInfo": {
    "created": "@spdx_created@",
    "creators": ["Organization: The paraes contributors"]
  },
  "packages": [
    {
      "SPDXID": "SPDXRef-paraes",
      "name": "paraes",
      "versionInfo": "@PROJECT_VERSION@",
      "downloadLocation": "NOASSERTION",
      "filesAnalyzed": false,
      "licenseConcluded": "Apache-2.0",
      "licenseDeclared": "Apache-2.0",
      "copyrightText": "2026 The paraes contributors"
    }@spdx_packages@
  ],
  "relationships": [
    {
      "spdxElementId": "SPDXRef-DOCUMENT",
      "relationshipType": "DESCRIBES",
      "relatedSpdxElement": "SPDXRef-paraes"
    }@spdx_relations@
  ]
}
]])
install(FILES ${PROJECT_BINARY_DIR}/paraes.spdx.json
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
