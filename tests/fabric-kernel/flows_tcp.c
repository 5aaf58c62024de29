/* SPDX-License-Identifier: BSD-3-Clause */
/* The same flows by the kernel's TCP, one connection each. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flows.h"

enum { POLL_MS = 20 };

static void check_call(const char *what, int result)
{
	if (result < 0)
		fail(what, -errno);
}

static void connect_flow(struct flows *f, struct flow *w)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	socklen_t len = sizeof to;
	int one = 1;
	inet_pton(AF_INET, f->hosts[w->dst].ip, &to.sin_addr);
	flows_enter(&f->hosts[w->dst]);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	check_call("bind", bind(listener, (struct sockaddr *)&to, sizeof to));
	check_call("listen", listen(listener, 1));
	check_call("getsockname", getsockname(listener, (struct sockaddr *)&to, &len));
	flows_enter(&f->hosts[w->src]);
	w->send_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	check_call("TCP_NODELAY", setsockopt(w->send_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
	check_call(f->tcp_algorithm, setsockopt(w->send_fd, IPPROTO_TCP, TCP_CONGESTION, f->tcp_algorithm,
						(socklen_t)strlen(f->tcp_algorithm)));
	check_call("connect", connect(w->send_fd, (struct sockaddr *)&to, sizeof to));
	w->receive_fd = accept(listener, NULL, NULL);
	check_call("accept", w->receive_fd);
	close(listener);
}

void tcp_open(struct flows *f)
{
	for (int k = 0; k < f->flow_count; k++)
		connect_flow(f, &f->flows[k]);
}

static void move_bytes(struct flows *f, struct flow *w)
{
	ssize_t n = 0;
	if (!w->send_done)
		n = send(w->send_fd, w->sent + w->send_bytes, w->bytes - w->send_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
	w->send_bytes += n > 0 ? (size_t)n : 0;
	w->send_done = w->send_bytes == w->bytes;
	while (!w->receive_done && (n = recv(w->receive_fd, w->received + w->receive_bytes, w->bytes - w->receive_bytes,
					     MSG_DONTWAIT)) > 0) {
		w->receive_bytes += (size_t)n;
		w->receive_done = w->receive_bytes == w->bytes;
		w->fct_s = flows_now_s(f);
	}
}

void tcp_poll(struct flows *f)
{
	struct pollfd fds[2 * FLOWS_MAX];
	for (int k = 0; k < f->flow_count; k++) {
		const struct flow *w = &f->flows[k];
		fds[2 * k] = (struct pollfd){w->send_done ? -1 : w->send_fd, POLLOUT, 0};
		fds[2 * k + 1] = (struct pollfd){w->receive_done ? -1 : w->receive_fd, POLLIN, 0};
	}
	check_call("poll", poll(fds, 2 * (nfds_t)f->flow_count, POLL_MS));
	for (int k = 0; k < f->flow_count; k++)
		move_bytes(f, &f->flows[k]);
}

void tcp_close(struct flows *f)
{
	for (int k = 0; k < f->flow_count; k++) {
		close(f->flows[k].send_fd);
		close(f->flows[k].receive_fd);
	}
}
