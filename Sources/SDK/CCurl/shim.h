// libcurl's setters are variadic, which Swift cannot call.
#ifndef RELAY_CCURL_H
#define RELAY_CCURL_H

#include <curl/curl.h>
#include <sys/socket.h>

static inline CURLcode relay_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode relay_curl_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode relay_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

typedef size_t (*relay_curl_write)(char *bytes, size_t size, size_t count, void *user);

static inline CURLcode relay_curl_set_write(CURL *handle, relay_curl_write callback) {
    return curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, callback);
}

/// Asked before each connection, those of redirects included: 1 to go on.
typedef int (*relay_curl_judge)(const struct sockaddr *address, void *user);

typedef struct {
    relay_curl_judge judge;
    void *user;
} relay_curl_gate;

static inline curl_socket_t relay_curl_open(void *user, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)purpose;
    relay_curl_gate *gate = user;
    if (!gate->judge(&address->addr, gate->user)) return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static inline CURLcode relay_curl_set_gate(CURL *handle, relay_curl_gate *gate) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, gate);
    return code ? code : curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, relay_curl_open);
}

static inline CURLcode relay_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode relay_curl_get_pointer(CURL *handle, CURLINFO info, void **value) {
    return curl_easy_getinfo(handle, info, value);
}

/// The handle and result of a finished transfer, or NULL when there is none.
static inline CURL *relay_curl_finished(CURLM *multi, CURLcode *result) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

#endif
