#pragma once
// libcurl sets and reads its options through variadic functions, which Swift cannot call: one typed inline
// for each kind of value.
#include <curl/curl.h>

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

// libcurl copies the text; NULL returns the option to "unset".
static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *text) {
  return curl_easy_setopt(easy, option, text);
}

static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_lines(CURL *easy, CURLoption option, struct curl_slist *lines) {
  return curl_easy_setopt(easy, option, lines);
}

typedef size_t (*ccurl_bytes_hook)(char *bytes, size_t size, size_t count, void *user);
typedef int (*ccurl_seek_hook)(void *user, curl_off_t offset, int origin);
typedef int (*ccurl_prereq_hook)(void *user, char *peer_ip, char *local_ip, int peer_port, int local_port);
typedef curl_socket_t (*ccurl_open_hook)(void *user, curlsocktype purpose, struct curl_sockaddr *address);
typedef int (*ccurl_close_hook)(void *user, curl_socket_t socket);
typedef int (*ccurl_debug_hook)(CURL *easy, curl_infotype kind, char *bytes, size_t size, void *user);

// For the options READFUNCTION, WRITEFUNCTION and HEADERFUNCTION.
static inline CURLcode ccurl_set_bytes_hook(CURL *easy, CURLoption option, ccurl_bytes_hook hook) {
  return curl_easy_setopt(easy, option, hook);
}

static inline CURLcode ccurl_set_seek_hook(CURL *easy, ccurl_seek_hook hook) {
  return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, hook);
}

static inline CURLcode ccurl_set_prereq_hook(CURL *easy, ccurl_prereq_hook hook) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, hook);
}

static inline CURLcode ccurl_set_debug_hook(CURL *easy, ccurl_debug_hook hook) {
  return curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, hook);
}

static inline CURLcode ccurl_set_open_hook(CURL *easy, ccurl_open_hook hook) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, hook);
}

static inline CURLcode ccurl_set_close_hook(CURL *easy, ccurl_close_hook hook) {
  return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, hook);
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

// Both return 0 for a value that libcurl does not know.
static inline long ccurl_get_long(CURL *easy, CURLINFO which) {
  long value = 0;
  return curl_easy_getinfo(easy, which, &value) == CURLE_OK ? value : 0;
}

static inline curl_off_t ccurl_get_offset(CURL *easy, CURLINFO which) {
  curl_off_t value = 0;
  return curl_easy_getinfo(easy, which, &value) == CURLE_OK ? value : 0;
}

static inline CURLcode ccurl_message_result(const CURLMsg *message) { return message->data.result; }
