// libcurl's setters are variadic, which Swift cannot call.
#ifndef RELAY_CCURL_H
#define RELAY_CCURL_H

#include <curl/curl.h>
#include <stdlib.h>
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

static inline CURLcode relay_curl_set_header(CURL *handle, relay_curl_write callback) {
    return curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, callback);
}

static inline CURLcode relay_curl_set_mime(CURL *handle, curl_mime *form) {
    return curl_easy_setopt(handle, CURLOPT_MIMEPOST, form);
}

/// As many as CURLOPT_POSTFIELDSIZE says.
static inline CURLcode relay_curl_copy_fields(CURL *handle, const char *bytes) {
    return curl_easy_setopt(handle, CURLOPT_COPYPOSTFIELDS, bytes ? bytes : "");
}

/// Asked now and then: other than 0 gives up.
typedef int (*relay_curl_progress)(void *user, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

static inline CURLcode relay_curl_set_progress(CURL *handle, relay_curl_progress callback) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, callback);
}

/// Asked before a request goes out on a connection: CURL_PREREQFUNC_OK or CURL_PREREQFUNC_ABORT.
static inline CURLcode relay_curl_set_prerequisite(CURL *handle, curl_prereq_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
}

static inline CURLcode relay_curl_get_socket(CURL *handle, curl_socket_t *socket) {
    return curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, socket);
}

/// Certificates to trust instead of the system's: SSL_CERT_FILE, which libcurl itself does not look at.
static inline CURLcode relay_curl_set_trust(CURL *handle) {
    const char *file = getenv("SSL_CERT_FILE");
    return file && *file ? curl_easy_setopt(handle, CURLOPT_CAINFO, file) : CURLE_OK;
}

/// Decides before each connection, also before those of redirects: 1 allows it.
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
