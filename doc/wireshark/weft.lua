-- SPDX-License-Identifier: BSD-3-Clause
-- Wireshark dissector for what Weft sends: UET 1.0.x (PDS and SES headers) over UDP port 4793 or 49150, or IP protocol 253.
-- Field widths and meanings: doc/reference/protocol.md and wire/api/wire_fields.h. Use: wireshark -X lua_script:doc/wireshark/weft.lua FILE

local weft = Proto("weft", "Weft, Ultra Ethernet Transport")

local UDP_PORT, IP_PROTOCOL = 4793, 253
local UDP_PORT_OLD = 49150 -- of implementations from before the port was assigned
local DSCP_TRIMMED, DSCP_TRIMMED_LASTHOP = 16, 18
local CSWAP_FIRST, CSWAP_LAST = 0x0d, 0x13 -- atomics with two operands of their own

weft.prefs.trailer = Pref.bool("CRC32C trailer", false, "The last four bytes of a packet are a CRC32C (crc=on)")
weft.prefs.udp_port = Pref.uint("UDP port", UDP_PORT, "Destination port of UET packets")

-- ---- names ----

local NEXT = {
	[0] = "none", [1] = "small request", [2] = "medium request", [3] = "standard request", [4] = "response",
	[5] = "response with data", [6] = "small response with data",
}
local CC_TYPES = {[0] = "NSCC", [1] = "CREDIT", [14] = "vendor", [15] = "vendor"}

-- ---- fields ----

local f = {}

local function field(kind, name, text, ...)
	f[name] = ProtoField[kind]("weft." .. name, text, ...)
end

-- What is not a field of the packet but follows from it is shown in brackets.
field("uint16", "ev", "Entropy value")
field("bool", "trimmed", "Trimmed by a switch")
field("uint32", "payload_bytes", "Payload bytes")
field("bytes", "payload", "Payload")
field("uint32", "crc", "CRC32C trailer", base.HEX)
field("uint16", "pdcid", "PDCID")
field("uint32", "clear_psn", "CLEAR_PSN")
field("uint32", "sack.base", "PSN of SACK bit 0")
field("uint32", "service_ns", "Service time (ns)")

-- Encryption (doc/reference/protocol.md): what follows this header is sealed.
local function tss_field(kind, name, text, ...)
	f["tss." .. name] = ProtoField[kind]("weft.tss." .. name, text, ...)
end
tss_field("bool", "sp", "Source id follows (SP)")
tss_field("uint8", "an", "Association number (AN)")
tss_field("uint32", "sdi", "Secure domain (SDI)")
tss_field("uint16", "epoch", "Epoch")
tss_field("uint64", "tsc", "Packet number (TSC)")
tss_field("bytes", "sealed", "Encrypted: PDS header to the end of the payload")
tss_field("bytes", "tag", "Tag")

-- What packets carry, and of each header {field, offset, bytes} in groups; flags with the number of their bit.
-- Written by scripts/dissector.py from wire/api/wire_fields.h: not to be changed here.
-- BEGIN OF LIST
local TYPES = {
	[1] = "TSS",
	[2] = "RUD_REQ",
	[3] = "ROD_REQ",
	[4] = "RUDI_REQ",
	[5] = "RUDI_RESP",
	[6] = "UUD_REQ",
	[7] = "ACK",
	[8] = "ACK_CC",
	[9] = "ACK_CCX",
	[10] = "NACK",
	[11] = "CP",
	[12] = "NACK_CCX",
	[13] = "RUD_CC_REQ",
	[14] = "ROD_CC_REQ",
}
local CONTROLS = {
	[0] = "NOOP",
	[1] = "ACK_REQ",
	[2] = "CLEAR_CMD",
	[3] = "CLEAR_REQ",
	[4] = "CLOSE_CMD",
	[5] = "CLOSE_REQ",
	[6] = "PROBE",
	[7] = "CREDIT",
	[8] = "CREDIT_REQ",
	[9] = "NEGOTIATION",
}
local NACKS = {
	[1] = "TRIMMED",
	[2] = "TRIMMED_LASTHOP",
	[3] = "TRIMMED_ACK",
	[4] = "NO_PDC_AVAIL",
	[5] = "NO_CCC_AVAIL",
	[6] = "NO_BITMAP",
	[7] = "NO_PKT_BUFFER",
	[8] = "NO_GTD_DEL_AVAIL",
	[9] = "NO_SES_MSG_AVAIL",
	[10] = "NO_RESOURCE",
	[11] = "PSN_OOR_WINDOW",
	[13] = "ROD_OOO",
	[14] = "INV_DPDCID",
	[15] = "PDC_HDR_MISMATCH",
	[16] = "CLOSING",
	[17] = "CLOSING_IN_ERR",
	[18] = "PKT_NOT_RCVD",
	[19] = "GTD_RESP_UNAVAIL",
	[20] = "ACK_WITH_DATA",
	[21] = "INVALID_SYN",
	[22] = "PDC_MODE_MISMATCH",
	[23] = "NEW_START_PSN",
	[24] = "RCVD_SES_PROCG",
	[25] = "UNEXP_EVENT",
	[26] = "RCVR_INFER_LOSS",
	[253] = "EXP_NORMAL",
	[254] = "EXP_ERROR",
	[255] = "EXP_FATAL",
}
local OPCODES = {
	[0] = "NO_OP",
	[1] = "WRITE",
	[2] = "READ",
	[3] = "ATOMIC",
	[4] = "FETCHING_ATOMIC",
	[5] = "SEND",
	[6] = "RENDEZVOUS_SEND",
	[7] = "DATAGRAM_SEND",
	[8] = "DEFERRABLE_SEND",
	[9] = "TAGGED_SEND",
	[10] = "RENDEZVOUS_TSEND",
	[11] = "DEFERRABLE_TSEND",
	[12] = "READY_TO_RESTART",
	[13] = "TSEND_ATOMIC",
	[14] = "TSEND_FETCH_ATOMIC",
	[15] = "MSG_ERROR",
	[48] = "WITHDRAW",
}
local RESPONSES = {
	[0] = "DEFAULT_RESPONSE",
	[1] = "RESPONSE",
	[2] = "RESPONSE_W_DATA",
	[3] = "NO_RESPONSE",
}
local CODES = {
	[0] = "NULL",
	[1] = "OK",
	[2] = "BAD_GENERATION",
	[3] = "DISABLED",
	[4] = "DISABLED_GEN",
	[5] = "NO_MATCH",
	[6] = "UNSUPPORTED_OP",
	[7] = "UNSUPPORTED_SIZE",
	[8] = "AT_INVALID",
	[9] = "AT_PERM",
	[10] = "AT_ATS_ERROR",
	[11] = "AT_NO_TRANS",
	[12] = "AT_OUT_OF_RANGE",
	[13] = "HOST_POISONED",
	[14] = "HOST_UNSUCCESS_CMPL",
	[15] = "AMO_UNSUPPORTED_OP",
	[16] = "AMO_UNSUPPORTED_DT",
	[17] = "AMO_UNSUPPORTED_SIZE",
	[18] = "AMO_UNALIGNED",
	[19] = "AMO_FP_NAN",
	[20] = "AMO_FP_UNDERFLOW",
	[21] = "AMO_FP_OVERFLOW",
	[22] = "AMO_FP_INEXACT",
	[23] = "PERM_VIOLATION",
	[24] = "OP_VIOLATION",
	[25] = "BAD_INDEX",
	[26] = "BAD_PID",
	[27] = "BAD_JOB_ID",
	[28] = "BAD_MKEY",
	[29] = "BAD_ADDR",
	[30] = "CANCELLED",
	[31] = "UNDELIVERABLE",
	[32] = "UNCOR",
	[33] = "UNCOR_TRNSNT",
	[34] = "TOO_LONG",
	[35] = "INITIATOR_ERROR",
	[36] = "DROPPED",
	[62] = "EXTENDED",
}
field("uint8", "type", "Type", base.DEC, TYPES, 0xf8)
field("uint16", "next_hdr", "Next header", base.DEC, NEXT, 0x780)
field("uint16", "cp.type", "Control type", base.DEC, CONTROLS, 0x780)
field("uint8", "flags", "Flags", base.HEX, nil, 0x7f)
field("bool", "flags.retx", "RETX: retransmission, or answer to one", 8, nil, 0x10)
field("bool", "flags.ar", "AR: acknowledge at once", 8, nil, 0x8)
field("bool", "flags.syn", "SYN: the target's PDCID is not known yet", 8, nil, 0x4)
field("bool", "flags.isrod", "ISROD: for an ordered connection", 8, nil, 0x20)
field("bool", "flags.m", "M: the packet answered was marked", 8, nil, 0x20)
field("bool", "flags.p", "P: answers a probe", 8, nil, 0x8)
field("bool", "flags.clear", "Please clear", 8, nil, 0x2)
field("bool", "flags.close", "Please close", 8, nil, 0x4)
field("bool", "flags.nt", "NT: for RUDI", 8, nil, 0x8)
field("int16", "clear_offset", "CLEAR_PSN offset", base.DEC, nil, nil)
field("uint32", "psn", "PSN", base.DEC, nil, nil)
field("uint16", "spdcid", "Sender's PDCID", base.DEC, nil, nil)
field("uint16", "dpdcid", "Receiver's PDCID", base.DEC, nil, nil)
field("bool", "use_rsv_pdc", "Use the reserved PDCs", 8, nil, 0x80)
field("uint16", "psn_offset", "PSN offset from Start_PSN", base.DEC, nil, 0xfff)
field("uint8", "ccc_id", "Congestion control context", base.DEC, nil, nil)
field("uint24", "credit", "Credit", base.DEC, nil, nil)
field("int16", "ack_offset", "ACK_PSN offset", base.DEC, nil, nil)
field("uint32", "cack", "Cumulative ACK (CACK_PSN)", base.DEC, nil, nil)
field("uint16", "opaque", "Probe opaque", base.HEX, nil, nil)
field("uint8", "cc_type", "Congestion control type", base.DEC, CC_TYPES, 0xf0)
field("uint8", "cc_flags", "Congestion control flags", base.HEX, nil, 0xf)
field("uint8", "mpr", "Window offered (128 PSNs)", base.DEC, nil, nil)
field("int16", "sack.offset", "SACK offset", base.DEC, nil, nil)
field("uint64", "sack", "SACK bitmap", base.HEX, nil, nil)
field("uint16", "service_time", "Service time (128 ns)", base.DEC, nil, nil)
field("uint8", "rc", "Restore cwnd", base.DEC, nil, 0x80)
field("uint8", "rcv_cwnd_pend", "Receiver window penalty", base.DEC, nil, 0x7f)
field("uint24", "rcvd_bytes", "Received (256 bytes)", base.DEC, nil, nil)
field("uint16", "ooo_count", "Out of order packets", base.DEC, nil, nil)
field("bytes", "ccx", "Vendor state")
field("uint8", "nack.code", "NACK code", base.HEX, NACKS, nil)
field("uint8", "nack.vendor", "Vendor code", base.HEX, nil, nil)
field("uint32", "nack.payload", "NACK payload", base.DEC, nil, nil)
field("uint32", "cp.payload", "Control payload", base.DEC, nil, nil)
field("uint32", "pkt_id", "Packet id", base.DEC, nil, nil)
field("uint8", "ses.opcode", "Operation", base.DEC, OPCODES, 0x3f)
field("uint8", "ses.version", "Version", base.DEC, nil, 0xc0)
field("uint8", "ses.flags", "Flags", base.HEX, nil, 0x3f)
field("bool", "ses.dc", "DC: delivery complete", 8, nil, 0x20)
field("bool", "ses.ie", "IE: initiator error", 8, nil, 0x10)
field("bool", "ses.rel", "REL: relative addressing", 8, nil, 0x8)
field("bool", "ses.hd", "HD: header data", 8, nil, 0x4)
field("bool", "ses.eom", "EOM: end of message", 8, nil, 0x2)
field("bool", "ses.som", "SOM: start of message", 8, nil, 0x1)
field("uint8", "ses.ri_generation", "Resource index generation", base.DEC, nil, nil)
field("uint24", "ses.job_id", "Job id", base.DEC, nil, nil)
field("uint16", "ses.pid_on_fep", "PIDonFEP", base.DEC, nil, 0xfff)
field("uint16", "ses.resource_index", "Resource index", base.DEC, nil, 0xfff)
field("uint16", "ses.message_id", "Message id", base.DEC, nil, nil)
field("uint64", "ses.buffer_offset", "Buffer offset", base.DEC, nil, nil)
field("uint32", "ses.initiator", "Initiator", base.DEC, nil, nil)
field("uint64", "ses.match", "Match bits or memory key", base.HEX, nil, nil)
field("uint32", "ses.request_length", "Request length", base.DEC, nil, nil)
field("uint64", "ses.header_data", "Header data", base.HEX, nil, nil)
field("uint16", "ses.payload_length", "Payload length", base.DEC, nil, 0x3fff)
field("uint32", "ses.message_offset", "Message offset", base.DEC, nil, nil)
field("uint8", "rsp.list", "List", base.DEC, nil, 0xc0)
field("uint8", "rsp.opcode", "Response", base.DEC, RESPONSES, 0x3f)
field("uint8", "rsp.code", "Return code", base.HEX, CODES, 0x3f)
field("uint32", "ses.modified_length", "Modified length", base.DEC, nil, nil)
field("uint16", "ses.read_message_id", "Read message id", base.DEC, nil, nil)
field("uint32", "ses.original_psn", "Original request's PSN", base.DEC, nil, nil)
field("uint8", "amo.opcode", "Atomic operation", base.HEX, nil, nil)
field("uint8", "amo.datatype", "Atomic data type", base.HEX, nil, nil)
field("uint8", "amo.control", "Atomic control", base.HEX, nil, nil)
field("bytes", "amo.compare", "Compare operand")
field("bytes", "amo.swap", "Swap operand")
field("uint32", "rndv.eager_length", "Eager length", base.DEC, nil, nil)
field("uint8", "rndv.ri_generation", "Read resource index generation", base.DEC, nil, nil)
field("uint16", "rndv.pid_on_fep", "Read PIDonFEP", base.DEC, nil, 0xfff0)
field("uint16", "rndv.resource_index", "Read resource index", base.DEC, nil, 0xfff)
field("uint64", "rndv.buffer_offset", "Read buffer offset", base.DEC, nil, nil)
field("uint64", "rndv.match", "Read memory key", base.HEX, nil, nil)
local G = {
	TYPE = {{"type", 0, 1}},
	NEXT = {{"next_hdr", 0, 2}},
	CTL = {{"cp.type", 0, 2}},
	FLAGS = {{"flags", 1, 1}},
	REQUEST_FLAGS = {{"flags.retx", 1, 1, 4}, {"flags.ar", 1, 1, 3}, {"flags.syn", 1, 1, 2}},
	CP_FLAGS = {{"flags.isrod", 1, 1, 5}, {"flags.retx", 1, 1, 4}, {"flags.ar", 1, 1, 3}, {"flags.syn", 1, 1, 2}},
	ACK_FLAGS = {{"flags.m", 1, 1, 5}, {"flags.retx", 1, 1, 4}, {"flags.p", 1, 1, 3}, {"flags.clear", 1, 1, 1}, {"flags.close", 1, 1, 2}},
	NACK_FLAGS = {{"flags.m", 1, 1, 5}, {"flags.retx", 1, 1, 4}, {"flags.nt", 1, 1, 3}},
	RUDI_FLAGS = {{"flags.m", 1, 1, 5}, {"flags.retx", 1, 1, 4}},
	REQUEST = {{"clear_offset", 2, 2}, {"psn", 4, 4}},
	IDS = {{"spdcid", 8, 2}, {"dpdcid", 10, 2}},
	SYN_IDS = {{"spdcid", 8, 2}, {"use_rsv_pdc", 10, 1, 7}, {"psn_offset", 10, 2}},
	REQUEST_CC = {{"ccc_id", 12, 1}, {"credit", 13, 3}},
	ACK = {{"ack_offset", 2, 2}, {"cack", 4, 4}},
	ACK_PROBE = {{"opaque", 2, 2}, {"cack", 4, 4}},
	SACK = {{"cc_type", 12, 1}, {"cc_flags", 12, 1}, {"mpr", 13, 1}, {"sack.offset", 14, 2}, {"sack", 16, 8}},
	NSCC = {{"service_time", 24, 2}, {"rc", 26, 1}, {"rcv_cwnd_pend", 26, 1}, {"rcvd_bytes", 27, 3}, {"ooo_count", 30, 2}},
	CREDIT = {{"credit", 24, 3}, {"ooo_count", 30, 2}},
	ACK_VENDOR = {{"ccx", 24, 8}},
	ACK_CCX = {{"ccx", 24, 16}},
	NACK = {{"nack.code", 2, 1}, {"nack.vendor", 3, 1}, {"psn", 4, 4}, {"nack.payload", 12, 4}},
	NACK_CCX = {{"ccx", 16, 16}},
	CP = {{"opaque", 2, 2}, {"psn", 4, 4}, {"cp.payload", 12, 4}},
	RUDI = {{"pkt_id", 4, 4}},
	REQ = {{"ses.opcode", 0, 1}, {"ses.version", 1, 1}, {"ses.flags", 1, 1}, {"ses.dc", 1, 1, 5}, {"ses.ie", 1, 1, 4}, {"ses.rel", 1, 1, 3}, {"ses.hd", 1, 1, 2}, {"ses.eom", 1, 1, 1}, {"ses.som", 1, 1, 0}, {"ses.ri_generation", 4, 1}, {"ses.job_id", 5, 3}, {"ses.pid_on_fep", 8, 2}, {"ses.resource_index", 10, 2}},
	STD = {{"ses.message_id", 2, 2}, {"ses.buffer_offset", 12, 8}, {"ses.initiator", 20, 4}, {"ses.match", 24, 8}, {"ses.request_length", 40, 4}},
	STD_SOM = {{"ses.header_data", 32, 8}},
	STD_PART = {{"ses.payload_length", 34, 2}, {"ses.message_offset", 36, 4}},
	MEDIUM = {{"ses.payload_length", 2, 2}, {"ses.initiator", 20, 4}, {"ses.match", 24, 8}},
	MEDIUM_DATA = {{"ses.header_data", 12, 8}},
	MEDIUM_OFFSET = {{"ses.buffer_offset", 12, 8}},
	SMALL = {{"ses.payload_length", 2, 2}, {"ses.buffer_offset", 12, 8}},
	RESPONSE = {{"rsp.list", 0, 1}, {"rsp.opcode", 0, 1}, {"ses.version", 1, 1}, {"rsp.code", 1, 1}, {"ses.job_id", 5, 3}},
	RSP = {{"ses.message_id", 2, 2}, {"ses.ri_generation", 4, 1}, {"ses.modified_length", 8, 4}},
	RSP_DATA = {{"ses.message_id", 2, 2}, {"ses.read_message_id", 8, 2}, {"ses.payload_length", 10, 2}, {"ses.modified_length", 12, 4}, {"ses.message_offset", 16, 4}},
	RSP_SMALL = {{"ses.payload_length", 2, 2}, {"ses.original_psn", 8, 4}},
	AMO = {{"amo.opcode", 0, 1}, {"amo.datatype", 1, 1}, {"amo.control", 2, 1}},
	OPERANDS = {{"amo.compare", 4, 16}, {"amo.swap", 20, 16}},
	RENDEZVOUS = {{"rndv.eager_length", 0, 4}, {"rndv.ri_generation", 4, 1}, {"rndv.pid_on_fep", 5, 2}, {"rndv.resource_index", 6, 2}, {"rndv.buffer_offset", 8, 8}, {"rndv.match", 16, 8}},
}
local PDS_BYTES = {[2] = 12, [3] = 12, [4] = 8, [5] = 8, [6] = 4, [7] = 12, [8] = 32, [9] = 40, [10] = 16, [11] = 16, [12] = 32, [13] = 16, [14] = 16}
local SES_BYTES = {[1] = 20, [2] = 32, [3] = 44, [4] = 12, [5] = 20, [6] = 12}
-- END OF LIST

weft.fields = f

local short = ProtoExpert.new("weft.short", "Ends before its headers do", expert.group.MALFORMED, expert.severity.ERROR)
local unknown = ProtoExpert.new("weft.unknown", "Not a header of UET", expert.group.PROTOCOL, expert.severity.WARN)
local trimmed = ProtoExpert.new("weft.lost_payload", "A switch removed the payload", expert.group.SEQUENCE,
	expert.severity.NOTE)
local refused = ProtoExpert.new("weft.refused", "A packet was refused", expert.group.SEQUENCE, expert.severity.NOTE)
weft.experts = {short, unknown, trimmed, refused}

local dscp4, dscp6 = Field.new("ip.dsfield.dscp"), Field.new("ipv6.tclass.dscp")

-- ---- showing ----

-- Adds the fields of a list that starts at `buf`, all of which is there.
local function show(tree, buf, list)
	for _, entry in ipairs(list) do
		tree:add(f[entry[1]], buf(entry[2], entry[3]))
	end
end

local function derived(tree, name, value)
	tree:add(f[name], value):set_generated()
end

local function name_of(names, value)
	return names[value] or string.format("0x%02x", value)
end

-- PSNs are 32 bits and wrap.
local function psn_plus(psn, offset)
	return (psn + offset) % 4294967296
end

local function signed(range)
	return range:int()
end

-- Adds the flags and returns the names of those that are set.
local function show_flags(tree, buf, list)
	local set, item = "", tree:add(f["flags"], buf(G.FLAGS[1][2], G.FLAGS[1][3]))
	for _, entry in ipairs(list) do
		item:add(f[entry[1]], buf(entry[2], entry[3]))
		if buf(entry[2], entry[3]):bitfield(7 - entry[4], 1) == 1 then
			set = set .. " " .. entry[1]:match("[^.]+$"):upper()
		end
	end
	return set
end

-- Both PDCIDs, as two fields and as one to filter by. Returns them as text.
local function show_ids(tree, buf, syn)
	local source, target = buf(8, 2):uint(), buf(10, 2):uint()
	show(tree, buf, syn and G.SYN_IDS or G.IDS)
	tree:add(f["pdcid"], buf(8, 2)):set_hidden()
	if not syn then
		tree:add(f["pdcid"], buf(10, 2)):set_hidden()
	end
	return source .. ">" .. (syn and "new" or target)
end

local function is_set(buf, bit)
	return buf(1, 1):bitfield(7 - bit, 1) == 1
end

-- ---- PDS headers: each returns the text for the info column ----

local function request(tree, buf, kind)
	local flags, psn = show_flags(tree, buf, G.REQUEST_FLAGS), buf(4, 4):uint()
	show(tree, buf, G.REQUEST)
	derived(tree, "clear_psn", psn_plus(psn, signed(buf(2, 2))))
	local ids = show_ids(tree, buf, is_set(buf, 2))
	if kind >= 13 then
		show(tree, buf, G.REQUEST_CC)
	end
	return string.format("%s PSN %u PDC %s", flags, psn, ids)
end

local function congestion(tree, buf, kind)
	show(tree, buf, G.SACK)
	local cack, cc_type = buf(4, 4):uint(), buf(12, 1):bitfield(0, 4)
	local from = psn_plus(cack, signed(buf(14, 2)))
	derived(tree, "sack.base", from)
	if kind == 9 then
		show(tree, buf, G.ACK_CCX)
	elseif cc_type == 0 then
		show(tree, buf, G.NSCC)
		derived(tree, "service_ns", buf(24, 2):uint() * 128)
	elseif cc_type == 1 then
		show(tree, buf, G.CREDIT)
	else
		show(tree, buf, G.ACK_VENDOR)
	end
	return string.format(" SACK %u:0x%s", from, tostring(buf(16, 8):bytes()):lower())
end

local function ack(tree, buf, kind)
	local flags, cack = show_flags(tree, buf, G.ACK_FLAGS), buf(4, 4):uint()
	local text
	if is_set(buf, 3) then
		show(tree, buf, G.ACK_PROBE)
		text = string.format("%s CACK %u", flags, cack)
	else
		local psn = psn_plus(cack, signed(buf(2, 2)))
		show(tree, buf, G.ACK)
		derived(tree, "psn", psn)
		text = string.format("%s CACK %u for PSN %u", flags, cack, psn)
	end
	text = text .. " PDC " .. show_ids(tree, buf, false)
	return kind == 7 and text or text .. congestion(tree, buf, kind)
end

local function nack(tree, buf, kind)
	local code, flags = buf(2, 1):uint(), show_flags(tree, buf, G.NACK_FLAGS)
	show(tree, buf, G.NACK)
	local ids = show_ids(tree, buf, false)
	tree:add_proto_expert_info(refused, name_of(NACKS, code))
	if kind == 12 then
		show(tree, buf, G.NACK_CCX)
	end
	return string.format(" %s%s PSN %u PDC %s", name_of(NACKS, code), flags, buf(4, 4):uint(), ids)
end

local function control(tree, buf)
	local flags = show_flags(tree, buf, G.CP_FLAGS)
	show(tree, buf, G.CP)
	local ids = show_ids(tree, buf, is_set(buf, 2))
	local what = name_of(CONTROLS, buf(0, 2):bitfield(5, 4))
	return string.format(" %s%s PSN %u PDC %s", what, flags, buf(4, 4):uint(), ids)
end

local function rudi(tree, buf)
	local flags = show_flags(tree, buf, G.RUDI_FLAGS)
	show(tree, buf, G.RUDI)
	return string.format("%s packet %u", flags, buf(4, 4):uint())
end

local function unreliable(tree, buf)
	show(tree, buf, G.FLAGS)
	return ""
end

local PDS = {
	[2] = request, [3] = request, [4] = rudi, [5] = rudi, [6] = unreliable, [7] = ack, [8] = ack, [9] = ack,
	[10] = nack, [11] = control, [12] = nack, [13] = request, [14] = request,
}

-- ---- SES headers ----

local function standard(tree, buf)
	show(tree, buf, G.STD)
	local length = buf(40, 4):uint()
	local text = string.format(" message %u", buf(2, 2):uint())
	if is_set(buf, 0) then
		show(tree, buf, G.STD_SOM)
		return text .. string.format(" 0/%u", length)
	end
	show(tree, buf, G.STD_PART)
	return text .. string.format(" %u/%u", buf(36, 4):uint(), length)
end

local function medium(tree, buf)
	show(tree, buf, G.MEDIUM)
	derived(tree, "ses.request_length", buf(2, 2):bitfield(2, 14))
	show(tree, buf, is_set(buf, 2) and G.MEDIUM_DATA or G.MEDIUM_OFFSET)
	return " length " .. buf(2, 2):bitfield(2, 14)
end

local function small(tree, buf)
	show(tree, buf, G.SMALL)
	derived(tree, "ses.request_length", buf(2, 2):bitfield(2, 14))
	return " length " .. buf(2, 2):bitfield(2, 14)
end

local RESPONSE_FIELDS = {[4] = G.RSP, [5] = G.RSP_DATA, [6] = G.RSP_SMALL}
local REQUEST_FORMS = {[1] = small, [2] = medium, [3] = standard}

-- Bytes of what follows the SES header of an operation, or nil when the packet ends before it does. `range` nil: it ends.
local function extension(tree, range, form, opcode)
	local there = range and range:len() or 0
	if form == 3 and (opcode == 6 or opcode == 10) then
		if there < 24 then
			return nil
		end
		show(tree, range, G.RENDEZVOUS)
		return 24
	elseif opcode ~= 3 and opcode ~= 4 and opcode ~= 13 and opcode ~= 14 then
		return 0
	elseif there < 4 then
		return nil
	end
	show(tree, range, G.AMO)
	if range(0, 1):uint() < CSWAP_FIRST or range(0, 1):uint() > CSWAP_LAST then
		return 4
	elseif there < 36 then
		return nil
	end
	show(tree, range, G.OPERANDS)
	return 36
end

-- What a response says besides its code: which READ it answers, and with what part of the data.
local function answered(buf, form)
	if form == 5 then
		return string.format(" %s message %u %u/%u", name_of(RESPONSES, buf(0, 1):bitfield(2, 6)), buf(8, 2):uint(),
			buf(16, 4):uint(), buf(12, 4):uint())
	elseif form == 6 then
		return string.format(" %s for PSN %u", name_of(RESPONSES, buf(0, 1):bitfield(2, 6)), buf(8, 4):uint())
	end
	return ""
end

-- Returns the bytes used, or nil when there are too few, and the text.
local function ses(tree, buf, form)
	local size = SES_BYTES[form]
	if buf:len() < size then
		return nil, ""
	end
	local opcode = buf(0, 1):bitfield(2, 6)
	local sub = tree:add(weft, buf(0, size), "Semantic sublayer (SES)")
	if form >= 4 then
		show(sub, buf, G.RESPONSE)
		show(sub, buf, RESPONSE_FIELDS[form])
		local code = buf(1, 1):bitfield(2, 6)
		return size, answered(buf, form) .. (code <= 1 and "" or " " .. name_of(CODES, code))
	end
	show(sub, buf, G.REQ)
	local text = " " .. name_of(OPCODES, opcode) .. REQUEST_FORMS[form](sub, buf)
	local more = extension(sub, buf:len() > size and buf(size):tvb() or nil, form, opcode)
	return more and size + more, text
end

-- ---- the packet ----

local function is_trimmed()
	local item = dscp4() or dscp6()
	return item and (item.value == DSCP_TRIMMED or item.value == DSCP_TRIMMED_LASTHOP) or false
end

local function too_short(pinfo, tree)
	tree:add_proto_expert_info(short)
	pinfo.cols.info:append(" [too short]")
end

local function show_payload(tree, tvb, at)
	local there, real = tvb:captured_len() - at, tvb:reported_len() - at
	if weft.prefs.trailer and real >= 4 then
		real = real - 4
		if there >= real + 4 then
			tree:add(f["crc"], tvb(at + real, 4))
		end
	end
	derived(tree, "payload_bytes", real)
	if real > 0 and there > 0 then
		tree:add(f["payload"], tvb(at, math.min(real, there)))
	end
end

local TSS_BYTES, TAG_BYTES = 12, 16

-- Nobody without the key can look further.
local function tss(tvb, pinfo, tree, at)
	local buf = tvb(at):tvb()
	if buf:len() < TSS_BYTES then
		return too_short(pinfo, tree)
	end
	local sub = tree:add(weft, buf(0, TSS_BYTES), "Transport security sublayer (TSS)")
	sub:add(f["type"], buf(0, 2))
	sub:add(f["tss.sp"], buf(0, 1), buf(0, 1):bitfield(5, 1))
	sub:add(f["tss.an"], buf(0, 1), buf(0, 1):bitfield(7, 1))
	sub:add(f["tss.sdi"], buf(1, 3))
	sub:add(f["tss.epoch"], buf(4, 2))
	sub:add(f["tss.tsc"], buf(6, 6), UInt64(buf(8, 4):uint(), buf(6, 2):uint()))
	pinfo.cols.info:append(string.format(" SDI %u AN %u number %u:%s", buf(1, 3):uint(), buf(0, 1):bitfield(7, 1), buf(4, 2):uint(),
		tostring(UInt64(buf(8, 4):uint(), buf(6, 2):uint()))))
	local cut = is_trimmed()
	derived(tree, "trimmed", cut)
	if cut then
		tree:add_proto_expert_info(trimmed)
		pinfo.cols.info:append(" [trimmed]")
	end
	local there = buf:len() - TSS_BYTES
	local sealed = cut and there or there - TAG_BYTES
	if sealed < 0 then
		return too_short(pinfo, tree)
	elseif sealed > 0 then
		tree:add(f["tss.sealed"], buf(TSS_BYTES, sealed))
	end
	if not cut then
		tree:add(f["tss.tag"], buf(TSS_BYTES + sealed, TAG_BYTES))
	end
end

-- PDS and what follows it, from `at`.
local function uet(tvb, pinfo, tree, at)
	local buf = tvb(at):tvb()
	local kind = buf:len() >= 2 and buf(0, 2):bitfield(0, 5)
	if not kind then
		return too_short(pinfo, tree)
	end
	pinfo.cols.info:append(name_of(TYPES, kind))
	if kind == 1 then
		return tss(tvb, pinfo, tree, at)
	end
	local size = PDS_BYTES[kind]
	if not size then
		show(tree, buf, G.TYPE)
		tree:add_proto_expert_info(unknown)
		return
	elseif buf:len() < size then
		return too_short(pinfo, tree)
	end
	local sub = tree:add(weft, buf(0, size), "Packet delivery sublayer (PDS)")
	show(sub, buf, G.TYPE)
	show(sub, buf, kind == 11 and G.CTL or G.NEXT)
	pinfo.cols.info:append(PDS[kind](sub, buf, kind))
	local form = kind == 11 and 0 or buf(0, 2):bitfield(5, 4)
	local cut = is_trimmed()
	derived(tree, "trimmed", cut)
	if cut then
		tree:add_proto_expert_info(trimmed)
		pinfo.cols.info:append(" [trimmed]")
	end
	if form ~= 0 and not SES_BYTES[form] then
		tree:add_proto_expert_info(unknown)
		return
	end
	local used, text = 0, ""
	if form ~= 0 then
		if buf:len() <= size then
			used = nil
		else
			used, text = ses(tree, buf(size):tvb(), form)
		end
	end
	pinfo.cols.info:append(text)
	if used and not cut then
		show_payload(tree, tvb, at + size + used)
	elseif not used and not cut then
		too_short(pinfo, tree)
	end
end

function weft.dissector(tvb, pinfo, root)
	if tvb:captured_len() < 2 then
		return 0
	end
	local tree = root:add(weft, tvb())
	pinfo.cols.protocol = "UET"
	pinfo.cols.info = ""
	local native = pinfo.port_type ~= 3
	if native then
		derived(tree, "ev", tvb(0, 2):uint())
	else
		derived(tree, "ev", pinfo.src_port)
	end
	pinfo.cols.info:append(string.format("EV %u ", native and tvb(0, 2):uint() or pinfo.src_port))
	if not native then
		uet(tvb, pinfo, tree, 0)
	elseif tvb:captured_len() > 4 then
		uet(tvb, pinfo, tree, 4)
	else
		too_short(pinfo, tree)
	end
	return tvb:captured_len()
end

local udp_ports = DissectorTable.get("udp.port")
local bound = UDP_PORT
udp_ports:add(bound, weft)
udp_ports:add(UDP_PORT_OLD, weft)
DissectorTable.get("ip.proto"):add(IP_PROTOCOL, weft)

function weft.prefs_changed()
	udp_ports:remove(bound, weft)
	bound = weft.prefs.udp_port
	udp_ports:add(bound, weft)
end
