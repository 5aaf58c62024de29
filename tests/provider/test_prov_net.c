/* SPDX-License-Identifier: BSD-3-Clause */
/* FI_WEFT_ADDR, _GATEWAY, _ROUTES, _VLAN and _DSCP as they are read, and what is refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "prov_net.h"

/* Devices that are no interfaces; the configuration and its names are the caller's. */
static void conf_make(struct prov_conf *conf, struct prov_dev *devs, unsigned count, const char *const *addrs)
{
	*conf = (struct prov_conf){.devs = devs, .count = count};
	for (unsigned i = 0; i < count; i++) {
		devs[i] = (struct prov_dev){.name = "net_none", .devargs = "net_none"};
		assert_int_equal(prov_net_addr(addrs[i], &devs[i], NULL), 0);
	}
}

static void conf_drop(struct prov_conf *conf)
{
	for (unsigned i = 0; i < conf->count; i++)
		free(conf->devs[i].routes);
}

static void addr__prefix_and_number_in_any_order(void **state)
{
	static const struct {
		const char *text;
		uint32_t ip;
		uint8_t prefix_len;
	} good[] = {{"10.1.0.5", 0x0a010005, 0},
		    {"10.1.0.5/24", 0x0a010005, 24},
		    {"10.1.0.5/24+3", 0x0a010008, 24},
		    {"10.1.0.5+3/24", 0x0a010008, 24}};
	for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
		struct prov_dev dev = {0};
		assert_int_equal(prov_net_addr(good[i].text, &dev, NULL), 0);
		assert_int_equal(weft_ip_low32(&dev.ip), good[i].ip);
		assert_int_equal(weft_ip_low32(&dev.base), 0x0a010005);
		assert_int_equal(dev.net.prefix_len, good[i].prefix_len);
	}
	struct prov_dev v6 = {0};
	assert_int_equal(prov_net_addr("fd00::5/64", &v6, NULL), 0);
	assert_int_equal(v6.net.prefix_len, 64);
}

static void addr__nonsense_is_refused_with_its_text(void **state)
{
	static const char *const bad[] = {"10.1.0.5/33",    "10.1.0.5/",      "10.1.0.5/x",  "10.1.0.5+",
					  "10.1.0/24+1/24", "fd00::/129",     "/24",         "0.0.0.0",
					  "host",           "10.1.0.5/24/24", "10.1.0.5+1+2"};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct prov_dev dev = {0};
		struct weft_err err = {""};
		assert_int_equal(prov_net_addr(bad[i], &dev, &err), -EINVAL);
		assert_non_null(strstr(err.msg, bad[i]));
	}
}

static void load__routes_of_each_device(void **state)
{
	static const char *const addrs[] = {"10.1.0.5/24", "fd01::5/64"};
	const struct prov_net_texts texts = {
		.gateway = "10.1.0.1;fe80::1", .routes = "10.2.0.0/16 via 10.1.0.2, 10.3.0.0/24;", .vlan = "100"};
	struct prov_conf conf;
	struct prov_dev devs[2];
	struct weft_err err = {""};
	conf_make(&conf, devs, 2, addrs);
	if (prov_net_load(&conf, &texts, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(devs[0].net.route_count, 3);
	assert_int_equal(devs[0].routes[0].prefix_len, 16);
	assert_int_equal(weft_ip_low32(&devs[0].routes[0].gateway), 0x0a010002);
	assert_int_equal(weft_ip_low32(&devs[0].routes[1].gateway), 0);
	assert_int_equal(devs[0].routes[2].prefix_len, 0);
	assert_int_equal(devs[1].net.route_count, 1);
	assert_int_equal(devs[0].net.vlan, 100);
	assert_int_equal(devs[1].net.vlan, 100); /* one for all */
	assert_int_equal(devs[0].net.dscp.data, 0);
	conf_drop(&conf);
}

static void load__dscps_not_named_keep_theirs(void **state)
{
	static const char *const addrs[] = {"10.1.0.5"};
	const struct prov_net_texts texts = {.dscp = "data:26, control:48"};
	struct prov_conf conf;
	struct prov_dev dev;
	conf_make(&conf, &dev, 1, addrs);
	assert_int_equal(prov_net_load(&conf, &texts, NULL), 0);
	assert_int_equal(dev.net.dscp.data, 26);
	assert_int_equal(dev.net.dscp.control, 48);
	assert_int_equal(dev.net.dscp.trimmed, 16);
}

static void load__nonsense_is_refused_and_named(void **state)
{
	static const char *const addrs[] = {"10.1.0.5/24"}, *const bare[] = {"10.1.0.5"};
	static const struct {
		struct prov_net_texts texts;
		const char *word;
		bool bare;
	} bad[] = {
		{{.gateway = "10.2.0.1"}, "not in the network", false},
		{{.gateway = "10.1.0.5"}, "itself", false},
		{{.gateway = "fd00::1"}, "address family", false},
		{{.gateway = "10.1.0.1"}, "prefix", true},
		{{.gateway = "gw"}, "'gw'", false},
		{{.gateway = "10.1.0.1;10.1.0.2"}, "FI_WEFT_GATEWAY has 2 items for 1 devices", false},
		{{.routes = "10.2.0.0/16 by 10.1.0.1"}, "'10.2.0.0/16 by 10.1.0.1'", false},
		{{.routes = "10.2.0.0/40"}, "'10.2.0.0/40'", false},
		{{.routes = "10.2.0.0/16 via 10.9.0.1"}, "10.9.0.1", false},
		{{.routes = "fd00::/64"}, "address family", false},
		{{.vlan = "0"}, "FI_WEFT_VLAN", false},
		{{.vlan = "4095"}, "4095", false},
		{{.vlan = "1", .vlan_pcp = "8"}, "'8'", false},
		{{.vlan_pcp = "3"}, "FI_WEFT_VLAN", false},
		{{.dscp = "data:64"}, "data:64", false},
		{{.dscp = "data"}, "'data'", false},
		{{.dscp = "video:3"}, "'video'", false},
		{{.dscp = "data:46"}, "data and control", false},
	};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct prov_conf conf;
		struct prov_dev dev;
		struct weft_err err = {""};
		conf_make(&conf, &dev, 1, bad[i].bare ? bare : addrs);
		assert_int_equal(prov_net_load(&conf, &bad[i].texts, &err), -EINVAL);
		if (!strstr(err.msg, bad[i].word))
			fail_msg("'%s' says nothing of '%s'", err.msg, bad[i].word);
		conf_drop(&conf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addr__prefix_and_number_in_any_order),
		cmocka_unit_test(addr__nonsense_is_refused_with_its_text),
		cmocka_unit_test(load__routes_of_each_device),
		cmocka_unit_test(load__dscps_not_named_keep_theirs),
		cmocka_unit_test(load__nonsense_is_refused_and_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
