/* sink [CERTIFICATE KEY]: an HTTP/1.1 server on loopback that throws bodies away as cheaply as can be and answers
   204; with a certificate over TLS. Bodies need a Content-Length. Prints its port. A thread for each connection. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static SSL_CTX *tls;

struct peer {
  int socket;
  SSL *session;
};

static ssize_t get(struct peer *peer, char *buffer, size_t most) {
  if (peer->session) return SSL_read(peer->session, buffer, (int)most);
  return recv(peer->socket, buffer, most, 0);
}

/* Up to MOST bytes of a body. In the clear the kernel drops them without a copy. */
static ssize_t drop(struct peer *peer, long long most) {
  static _Thread_local char unread[1 << 16];
  if (peer->session) return SSL_read(peer->session, unread, most < (1 << 16) ? (int)most : 1 << 16);
  return recv(peer->socket, 0, most < (1 << 24) ? (size_t)most : 1 << 24, MSG_TRUNC);
}

static ssize_t put(struct peer *peer, const char *text) {
  if (peer->session) return SSL_write(peer->session, text, (int)strlen(text));
  return send(peer->socket, text, strlen(text), MSG_NOSIGNAL);
}

static long long length_of(const char *head, const char *end) {
  const char *field = strcasestr(head, "\r\ncontent-length:");
  return field && field < end ? atoll(field + 17) : 0;
}

static void serve(struct peer *peer) {
  char head[16384];
  size_t held = 0;
  for (;;) {
    char *end;
    head[held] = 0;
    while (!(end = strstr(head, "\r\n\r\n"))) {
      ssize_t more = held + 1 < sizeof head ? get(peer, head + held, sizeof head - 1 - held) : 0;
      if (more <= 0) return;
      head[held += more] = 0;
    }
    end += 4;
    long long left = length_of(head, end);
    char *expects = strcasestr(head, "\r\nexpect: 100");
    if (expects && expects < end && put(peer, "HTTP/1.1 100 Continue\r\n\r\n") <= 0) return;
    size_t behind = held - (end - head), used = left < (long long)behind ? (size_t)left : behind;
    held = behind - used;
    left -= used;
    memmove(head, end + used, held);
    for (ssize_t gone; left; left -= gone)
      if ((gone = drop(peer, left)) <= 0) return;
    if (put(peer, "HTTP/1.1 204 No Content\r\n\r\n") <= 0) return;
  }
}

static void *meet(void *given) {
  struct peer peer = {(int)(long)given, 0};
  int on = 1;
  setsockopt(peer.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (!tls) {
    serve(&peer);
  } else {
    peer.session = SSL_new(tls);
    SSL_set_fd(peer.session, peer.socket);
    if (SSL_accept(peer.session) == 1) serve(&peer);
    SSL_free(peer.session);
  }
  close(peer.socket);
  return 0;
}

int main(int count, char **arguments) {
  signal(SIGPIPE, SIG_IGN);
  if (count == 3) {
    tls = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate_chain_file(tls, arguments[1]) != 1 ||
        SSL_CTX_use_PrivateKey_file(tls, arguments[2], SSL_FILETYPE_PEM) != 1) {
      fprintf(stderr, "sink: cannot use %s and %s\n", arguments[1], arguments[2]);
      return 66;
    }
  }
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  if (bind(listener, (struct sockaddr *)&at, size) || listen(listener, 1024) ||
      getsockname(listener, (struct sockaddr *)&at, &size)) {
    perror("sink");
    return 71;
  }
  printf("%d\n", ntohs(at.sin_port));
  fflush(stdout);
  for (;;) {
    int peer = accept4(listener, 0, 0, SOCK_CLOEXEC);
    if (peer < 0) continue;
    pthread_t thread;
    if (pthread_create(&thread, 0, meet, (void *)(long)peer) == 0) pthread_detach(thread);
    else close(peer);
  }
}
