/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_getinfo against a matrix of hints; no device is opened. */
#include "fixture.h"
#include "member.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int names_setup(void **state)
{
	setenv("FI_PROVIDER", "weft", 1);
	return 0;
}

static int devices_setup(void **state)
{
	setenv("FI_WEFT_DEVICE", "net_memif0,role=client,id=0;net_memif1,role=client,id=1", 1);
	setenv("FI_WEFT_ADDR", "10.1.0.1;10.1.0.2", 1);
	return 0;
}

static struct fi_info *hints_new(void **state)
{
	struct fi_info *hints = fi_allocinfo();
	assert_non_null(hints);
	hints->ep_attr->type = FI_EP_RDM;
	return hints;
}

static int ask(struct fi_info *hints, struct fi_info **out)
{
	int ret = fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, out);
	fi_freeinfo(hints);
	return ret;
}

static void getinfo__no_hints_lists_devices(void **state)
{
	struct fi_info *info;
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, NULL, &info));
	assert_string_equal(info->domain_attr->name, "net_memif0");
	assert_string_equal(info->fabric_attr->prov_name, "weft");
	assert_int_equal(info->addr_format, FI_SOCKADDR_IN);
	assert_non_null(info->next);
	assert_string_equal(info->next->domain_attr->name, "net_memif1");
	const struct sockaddr_in *in = info->next->src_addr;
	assert_int_equal(ntohl(in->sin_addr.s_addr), 0x0a010002);
	const struct fi_info *dgram = info->next->next;
	assert_int_equal(info->next->ep_attr->type, FI_EP_RDM);
	assert_int_equal(dgram->ep_attr->type, FI_EP_DGRAM);
	assert_string_equal(dgram->domain_attr->name, "net_memif0");
	const struct fi_info *msg = dgram->next->next;
	assert_int_equal(dgram->next->ep_attr->type, FI_EP_DGRAM);
	assert_int_equal(msg->ep_attr->type, FI_EP_MSG);
	assert_string_equal(msg->domain_attr->name, "net_memif0");
	assert_false(msg->caps & (FI_SOURCE | FI_DIRECTED_RECV | FI_NAMED_RX_CTX));
	assert_non_null(msg->next);
	assert_null(msg->next->next);
	assert_string_equal(info->nic->device_attr->name, "net_memif0");
	assert_string_equal(dgram->nic->link_attr->network_type, "Ethernet");
	fi_freeinfo(info);
}

static void getinfo__own_answer_is_accepted(void **state)
{
	struct fi_info *info, *again;
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, NULL, &info));
	struct fi_info *hints = fi_dupinfo(info);
	ok(ask(hints, &again));
	assert_int_equal(again->caps, info->caps);
	assert_string_equal(again->domain_attr->name, info->domain_attr->name);
	assert_null(again->next);
	fi_freeinfo(again);
	fi_freeinfo(info);
}

static void getinfo__partial_hints(void **state)
{
	struct fi_info hints = {.caps = FI_TAGGED}, *info;
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, &hints, &info));
	assert_true(info->caps & FI_TAGGED && info->caps & FI_SEND && info->caps & FI_RECV);
	assert_false(info->caps & FI_MSG);
	fi_freeinfo(info);
}

/* Sender and receiver take part alike. */
static void getinfo__collectives_on_both_sides(void **state)
{
	struct fi_info hints = {.caps = FI_TAGGED | FI_COLLECTIVE}, *info;

	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, &hints, &info));
	assert_true(info->tx_attr->caps & FI_COLLECTIVE && info->rx_attr->caps & FI_COLLECTIVE);
	fi_freeinfo(info);
}

static void getinfo__echoes(void **state)
{
	struct fi_info *hints = hints_new(state), *info;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->av_type = FI_AV_TABLE;
	hints->domain_attr->mr_mode = FI_MR_BASIC;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	hints->tx_attr->size = 77;
	hints->mode = ~0ULL;
	ok(ask(hints, &info));
	assert_int_equal(info->domain_attr->threading, FI_THREAD_DOMAIN);
	assert_int_equal(info->domain_attr->data_progress, FI_PROGRESS_AUTO);
	assert_int_equal(info->domain_attr->control_progress, FI_PROGRESS_MANUAL);
	assert_int_equal(info->domain_attr->av_type, FI_AV_TABLE);
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_BASIC);
	assert_int_equal(info->tx_attr->op_flags, FI_DELIVERY_COMPLETE);
	assert_int_equal(info->tx_attr->size, 77);
	assert_int_equal(info->mode, 0);
	fi_freeinfo(info);
}

static void getinfo__mr_mode_bits_offered_are_not_required(void **state)
{
	struct fi_info *hints = hints_new(state), *info;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	ok(ask(hints, &info));
	assert_int_equal(info->domain_attr->mr_mode, 0);
	fi_freeinfo(info);
}

/* One attribute of hints that would be fine otherwise, and a value nobody can satisfy. */
struct spoil {
	const char *name;
	size_t group; /* of the attribute struct's pointer in fi_info; 0: fi_info itself */
	size_t offset, size;
	uint64_t value;
};

#define SPOIL(group, type, field, value)                                                                               \
	{                                                                                                              \
#type "." #field, group, offsetof(type, field), sizeof(((type *)0)->field), (uint64_t)(value)          \
	}
#define HINT(field, value)   SPOIL(0, struct fi_info, field, value)
#define EP(field, value)     SPOIL(offsetof(struct fi_info, ep_attr), struct fi_ep_attr, field, value)
#define TX(field, value)     SPOIL(offsetof(struct fi_info, tx_attr), struct fi_tx_attr, field, value)
#define RX(field, value)     SPOIL(offsetof(struct fi_info, rx_attr), struct fi_rx_attr, field, value)
#define DOMAIN(field, value) SPOIL(offsetof(struct fi_info, domain_attr), struct fi_domain_attr, field, value)
#define FABRIC(field, value) SPOIL(offsetof(struct fi_info, fabric_attr), struct fi_fabric_attr, field, value)

static void *spoil_at(struct fi_info *hints, const struct spoil *row)
{
	char *base = (char *)hints;
	if (row->group)
		memcpy(&base, base + row->group, sizeof base);
	return base + row->offset;
}

static void getinfo__refuses_what_is_not_there(void **state)
{
	static const struct spoil rows[] = {
		HINT(caps, FI_RMA | FI_RMA_PMEM),
		HINT(caps, FI_MSG | FI_MULTICAST),
		HINT(addr_format, FI_SOCKADDR_IN6),
		HINT(addr_format, FI_ADDR_STR),
		EP(type, FI_EP_SOCK_STREAM),
		EP(protocol, FI_PROTO_RXM),
		EP(max_msg_size, SIZE_MAX),
		EP(tx_ctx_cnt, 17),
		EP(rx_ctx_cnt, 17),
		EP(auth_key_size, 8),
		TX(caps, FI_REMOTE_READ),
		TX(op_flags, FI_COMMIT_COMPLETE),
		TX(msg_order, FI_ORDER_SAR),
		TX(comp_order, FI_ORDER_STRICT),
		TX(inject_size, 1 << 20),
		TX(size, 1 << 20),
		TX(iov_limit, 5),
		TX(rma_iov_limit, 5),
		EP(max_order_waw_size, 1025),
		DOMAIN(mr_iov_limit, 17),
		RX(caps, FI_SEND),
#ifdef FI_BUFFERED_RECV /* libfabric 1.x */
		RX(op_flags, FI_BUFFERED_RECV),
#endif
		RX(msg_order, FI_ORDER_RAR),
		RX(size, 1 << 20),
		RX(iov_limit, 5),
		DOMAIN(cq_data_size, 9),
		DOMAIN(caps, FI_HMEM),
		DOMAIN(max_ep_srx_ctx, 2),
		DOMAIN(ep_cnt, 1 << 20),
		DOMAIN(name, (uintptr_t) "net_nothing"),
		FABRIC(name, (uintptr_t) "other"),
	};
	for (size_t i = 0; i < count_of(rows); i++) {
		struct fi_info *hints = hints_new(state), *info = NULL;
		uint64_t before = 0;
		memcpy(&before, spoil_at(hints, &rows[i]), rows[i].size);
		memcpy(spoil_at(hints, &rows[i]), &rows[i].value, rows[i].size); /* little endian: low bytes first */
		int ret = fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &info);
		memcpy(spoil_at(hints, &rows[i]), &before, rows[i].size); /* names are not fi_freeinfo's */
		fi_freeinfo(hints);
		if (ret != -FI_ENODATA)
			fail_msg("%s: %d", rows[i].name, ret);
	}
}

static void getinfo__source_selects_device(void **state)
{
	struct fi_info *info;
	ok(fi_getinfo(FIXTURE_VERSION, "10.1.0.2", "9228", FI_SOURCE, NULL, &info));
	assert_string_equal(info->domain_attr->name, "net_memif1");
	assert_int_equal(info->next->ep_attr->type, FI_EP_DGRAM);
	assert_int_equal(info->next->next->ep_attr->type, FI_EP_MSG);
	assert_null(info->next->next->next);
	const struct sockaddr_in *in = info->src_addr;
	assert_int_equal(ntohs(in->sin_port), 9228);
	assert_null(info->dest_addr);
	fi_freeinfo(info);
	assert_int_equal(fi_getinfo(FIXTURE_VERSION, "10.1.0.3", NULL, FI_SOURCE, NULL, &info), -FI_ENODATA);
}

/* The service alone overrides no more of the hints' address than its port. */
static void getinfo__service_goes_with_hinted_source(void **state)
{
	struct fi_info *info, *hints = fi_allocinfo();
	struct sockaddr_in src = {.sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(0x0a010002)};
	hints->src_addr = malloc(sizeof src);
	hints->src_addrlen = sizeof src;
	memcpy(hints->src_addr, &src, sizeof src);
	ok(fi_getinfo(FIXTURE_VERSION, NULL, "9228", FI_SOURCE, hints, &info));
	assert_string_equal(info->domain_attr->name, "net_memif1");
	assert_int_equal(ntohs(((struct sockaddr_in *)info->src_addr)->sin_port), 9228);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void getinfo__node_is_destination(void **state)
{
	struct fi_info *info;
	ok(fi_getinfo(FIXTURE_VERSION, "10.1.0.9", "9228", 0, NULL, &info));
	const struct sockaddr_in *in = info->dest_addr;
	assert_int_equal(info->dest_addrlen, sizeof *in);
	assert_int_equal(ntohl(in->sin_addr.s_addr), 0x0a010009);
	assert_int_equal(ntohs(in->sin_port), 9228);
	fi_freeinfo(info);
}

static void getinfo__unresolvable_node(void **state)
{
	struct fi_info *info;
	assert_int_equal(fi_getinfo(FIXTURE_VERSION, "no-such-host.invalid", NULL, FI_NUMERICHOST, NULL, &info),
			 -FI_ENODATA);
}

static void getinfo__ipv6_device(void **state)
{
	struct fi_info *info;
	setenv("FI_WEFT_DEVICE", "net_memif0", 1);
	setenv("FI_WEFT_ADDR", "fd00::1+3", 1);
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, NULL, &info));
	assert_int_equal(info->addr_format, FI_SOCKADDR_IN6);
	assert_int_equal(info->src_addrlen, sizeof(struct sockaddr_in6));
	const struct sockaddr_in6 *in6 = info->src_addr;
	assert_int_equal(in6->sin6_addr.s6_addr[15], 4);
	fi_freeinfo(info);
	devices_setup(state);
}

static void conf__rank_is_substituted(void **state)
{
	struct fi_info *info;
	setenv("PMIX_RANK", "7", 1);
	setenv("FI_WEFT_DEVICE", "net_memif%r,role=client", 1);
	setenv("FI_WEFT_ADDR", "10.0.0.1+%r", 1);
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, NULL, &info));
	assert_string_equal(info->domain_attr->name, "net_memif7");
	const struct sockaddr_in *in = info->src_addr;
	assert_int_equal(ntohl(in->sin_addr.s_addr), 0x0a000008);
	fi_freeinfo(info);
	unsetenv("PMIX_RANK");
	devices_setup(state);
}

/* The last byte of the address that a new process gets. */
static int number_in_child(void)
{
	struct fi_info *info;
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		if (fi_getinfo(FIXTURE_VERSION, "10.0.0.1", NULL, FI_SOURCE, NULL, &info))
			_exit(0);
		const struct sockaddr_in *in = info->src_addr;
		_exit((int)(ntohl(in->sin_addr.s_addr) & 0xff));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Numbers are given back when a process ends. All are found under the address that all share. */
static void conf__processes_are_numbered(void **state)
{
	struct fi_info *info;
	char device[64];
	snprintf(device, sizeof device, "net_memif%%n,role=client,id=%d", (int)getpid());
	setenv("FI_WEFT_DEVICE", device, 1);
	setenv("FI_WEFT_ADDR", "10.0.0.1+%n", 1);
	for (int i = 0; i < 2; i++) {
		ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, NULL, &info));
		const struct sockaddr_in *in = info->src_addr;
		assert_string_equal(info->domain_attr->name, "net_memif0");
		assert_int_equal(ntohl(in->sin_addr.s_addr), 0x0a000001);
		fi_freeinfo(info);
		assert_int_equal(number_in_child(), 2);
	}
	devices_setup(state);
}

static void conf__bad_input_is_refused(void **state)
{
	static const char *const rows[][2] = {
		{"net_memif0", "10.0.0.256"},
		{"net_memif0", "10.0.0.1+x"},
		{"net_memif0", "10.0.0.1;10.0.0.2"},
		{"net_memif0;net_memif1", "10.0.0.1"},
		{"net_memif0;net_memif0", "10.0.0.1;10.0.0.1"},
		{"net_memif0,id=0;net_memif0,id=1", "10.0.0.1;10.0.0.2"},
		{"net_memif%r", "10.0.0.1"},
		{"net_memif0", "0.0.0.0"},
	};
	for (size_t i = 0; i < count_of(rows); i++) {
		struct fi_info *info = NULL;
		setenv("FI_WEFT_DEVICE", rows[i][0], 1);
		setenv("FI_WEFT_ADDR", rows[i][1], 1);
		if (fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, NULL, &info) != -FI_ENODATA)
			fail_msg("accepted '%s' with '%s'", rows[i][0], rows[i][1]);
	}
	devices_setup(state);
}

static void conf__no_device(void **state)
{
	struct fi_info *info = NULL;
	unsetenv("FI_WEFT_DEVICE");
	assert_int_equal(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, NULL, &info), -FI_ENODATA);
	devices_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(getinfo__no_hints_lists_devices, devices_setup),
		cmocka_unit_test(getinfo__own_answer_is_accepted),
		cmocka_unit_test(getinfo__partial_hints),
		cmocka_unit_test(getinfo__collectives_on_both_sides),
		cmocka_unit_test(getinfo__echoes),
		cmocka_unit_test(getinfo__mr_mode_bits_offered_are_not_required),
		cmocka_unit_test(getinfo__refuses_what_is_not_there),
		cmocka_unit_test(getinfo__source_selects_device),
		cmocka_unit_test(getinfo__service_goes_with_hinted_source),
		cmocka_unit_test(getinfo__node_is_destination),
		cmocka_unit_test(getinfo__unresolvable_node),
		cmocka_unit_test(getinfo__ipv6_device),
		cmocka_unit_test(conf__rank_is_substituted),
		cmocka_unit_test(conf__processes_are_numbered),
		cmocka_unit_test(conf__bad_input_is_refused),
		cmocka_unit_test(conf__no_device),
	};
	return cmocka_run_group_tests(tests, names_setup, NULL);
}
