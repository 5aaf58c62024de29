/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *name_of(const char *const *names, size_t count, unsigned value)
{
	return value < count && names[value] ? names[value] : "unknown";
}

const char *wire_error_name(enum wire_error error)
{
	static const char *const names[WIRE_ERRORS] = {
		[WIRE_OK] = "ok",       [WIRE_ERR_SHORT] = "short", [WIRE_ERR_IP] = "ip",   [WIRE_ERR_UDP] = "udp",
		[WIRE_ERR_PDS] = "pds", [WIRE_ERR_SES] = "ses",     [WIRE_ERR_CRC] = "crc",
	};
	return name_of(names, COUNT(names), error);
}

const char *wire_pds_name(uint8_t type)
{
	static const char *const names[] = {
		[WIRE_PDS_TSS] = "TSS",
		[WIRE_PDS_RUD_REQ] = "RUD_REQ",
		[WIRE_PDS_ROD_REQ] = "ROD_REQ",
		[WIRE_PDS_RUDI_REQ] = "RUDI_REQ",
		[WIRE_PDS_RUDI_RESP] = "RUDI_RESP",
		[WIRE_PDS_UUD_REQ] = "UUD_REQ",
		[WIRE_PDS_ACK] = "ACK",
		[WIRE_PDS_ACK_CC] = "ACK_CC",
		[WIRE_PDS_ACK_CCX] = "ACK_CCX",
		[WIRE_PDS_NACK] = "NACK",
		[WIRE_PDS_CP] = "CP",
		[WIRE_PDS_NACK_CCX] = "NACK_CCX",
		[WIRE_PDS_RUD_CC_REQ] = "RUD_CC_REQ",
		[WIRE_PDS_ROD_CC_REQ] = "ROD_CC_REQ",
	};
	return name_of(names, COUNT(names), type);
}

const char *wire_ctl_name(uint8_t ctl)
{
	static const char *const names[] = {
		[WIRE_CTL_NOOP] = "NOOP",
		[WIRE_CTL_ACK_REQ] = "ACK_REQ",
		[WIRE_CTL_CLEAR_CMD] = "CLEAR_CMD",
		[WIRE_CTL_CLEAR_REQ] = "CLEAR_REQ",
		[WIRE_CTL_CLOSE_CMD] = "CLOSE_CMD",
		[WIRE_CTL_CLOSE_REQ] = "CLOSE_REQ",
		[WIRE_CTL_PROBE] = "PROBE",
		[WIRE_CTL_CREDIT] = "CREDIT",
		[WIRE_CTL_CREDIT_REQ] = "CREDIT_REQ",
		[WIRE_CTL_NEGOTIATION] = "NEGOTIATION",
	};
	return name_of(names, COUNT(names), ctl);
}

const char *wire_nack_name(uint8_t code)
{
	static const char *const names[] = {
		[WIRE_NACK_TRIMMED] = "TRIMMED",
		[WIRE_NACK_TRIMMED_LASTHOP] = "TRIMMED_LASTHOP",
		[WIRE_NACK_TRIMMED_ACK] = "TRIMMED_ACK",
		[WIRE_NACK_NO_PDC_AVAIL] = "NO_PDC_AVAIL",
		[WIRE_NACK_NO_CCC_AVAIL] = "NO_CCC_AVAIL",
		[WIRE_NACK_NO_BITMAP] = "NO_BITMAP",
		[WIRE_NACK_NO_PKT_BUFFER] = "NO_PKT_BUFFER",
		[WIRE_NACK_NO_GTD_DEL_AVAIL] = "NO_GTD_DEL_AVAIL",
		[WIRE_NACK_NO_SES_MSG_AVAIL] = "NO_SES_MSG_AVAIL",
		[WIRE_NACK_NO_RESOURCE] = "NO_RESOURCE",
		[WIRE_NACK_PSN_OOR_WINDOW] = "PSN_OOR_WINDOW",
		[WIRE_NACK_ROD_OOO] = "ROD_OOO",
		[WIRE_NACK_INV_DPDCID] = "INV_DPDCID",
		[WIRE_NACK_PDC_HDR_MISMATCH] = "PDC_HDR_MISMATCH",
		[WIRE_NACK_CLOSING] = "CLOSING",
		[WIRE_NACK_CLOSING_IN_ERR] = "CLOSING_IN_ERR",
		[WIRE_NACK_PKT_NOT_RCVD] = "PKT_NOT_RCVD",
		[WIRE_NACK_GTD_RESP_UNAVAIL] = "GTD_RESP_UNAVAIL",
		[WIRE_NACK_ACK_WITH_DATA] = "ACK_WITH_DATA",
		[WIRE_NACK_INVALID_SYN] = "INVALID_SYN",
		[WIRE_NACK_PDC_MODE_MISMATCH] = "PDC_MODE_MISMATCH",
		[WIRE_NACK_NEW_START_PSN] = "NEW_START_PSN",
		[WIRE_NACK_RCVD_SES_PROCG] = "RCVD_SES_PROCG",
		[WIRE_NACK_UNEXP_EVENT] = "UNEXP_EVENT",
		[WIRE_NACK_RCVR_INFER_LOSS] = "RCVR_INFER_LOSS",
	};
	return name_of(names, COUNT(names), code);
}

const char *wire_op_name(uint8_t opcode)
{
	static const char *const names[] = {
		[WIRE_OP_NO_OP] = "NO_OP",
		[WIRE_OP_WRITE] = "WRITE",
		[WIRE_OP_READ] = "READ",
		[WIRE_OP_ATOMIC] = "ATOMIC",
		[WIRE_OP_FETCHING_ATOMIC] = "FETCHING_ATOMIC",
		[WIRE_OP_SEND] = "SEND",
		[WIRE_OP_RENDEZVOUS_SEND] = "RENDEZVOUS_SEND",
		[WIRE_OP_DATAGRAM_SEND] = "DATAGRAM_SEND",
		[WIRE_OP_DEFERRABLE_SEND] = "DEFERRABLE_SEND",
		[WIRE_OP_TAGGED_SEND] = "TAGGED_SEND",
		[WIRE_OP_RENDEZVOUS_TSEND] = "RENDEZVOUS_TSEND",
		[WIRE_OP_DEFERRABLE_TSEND] = "DEFERRABLE_TSEND",
		[WIRE_OP_READY_TO_RESTART] = "READY_TO_RESTART",
		[WIRE_OP_TSEND_ATOMIC] = "TSEND_ATOMIC",
		[WIRE_OP_TSEND_FETCH_ATOMIC] = "TSEND_FETCH_ATOMIC",
		[WIRE_OP_MSG_ERROR] = "MSG_ERROR",
		[WIRE_OP_WITHDRAW] = "WITHDRAW",
	};
	return name_of(names, COUNT(names), opcode);
}

const char *wire_rsp_name(uint8_t opcode)
{
	static const char *const names[] = {
		[WIRE_RSP_DEFAULT] = "DEFAULT_RESPONSE",
		[WIRE_RSP_RESPONSE] = "RESPONSE",
		[WIRE_RSP_W_DATA] = "RESPONSE_W_DATA",
		[WIRE_RSP_NONE] = "NO_RESPONSE",
	};
	return name_of(names, COUNT(names), opcode);
}

const char *wire_rc_name(uint8_t return_code)
{
	static const char *const names[] = {
		[WIRE_RC_NULL] = "NULL",
		[WIRE_RC_OK] = "OK",
		[WIRE_RC_BAD_GENERATION] = "BAD_GENERATION",
		[WIRE_RC_DISABLED] = "DISABLED",
		[WIRE_RC_DISABLED_GEN] = "DISABLED_GEN",
		[WIRE_RC_NO_MATCH] = "NO_MATCH",
		[WIRE_RC_UNSUPPORTED_OP] = "UNSUPPORTED_OP",
		[WIRE_RC_UNSUPPORTED_SIZE] = "UNSUPPORTED_SIZE",
		[WIRE_RC_AT_INVALID] = "AT_INVALID",
		[WIRE_RC_AT_PERM] = "AT_PERM",
		[WIRE_RC_AT_ATS_ERROR] = "AT_ATS_ERROR",
		[WIRE_RC_AT_NO_TRANS] = "AT_NO_TRANS",
		[WIRE_RC_AT_OUT_OF_RANGE] = "AT_OUT_OF_RANGE",
		[WIRE_RC_HOST_POISONED] = "HOST_POISONED",
		[WIRE_RC_HOST_UNSUCCESS_CMPL] = "HOST_UNSUCCESS_CMPL",
		[WIRE_RC_AMO_UNSUPPORTED_OP] = "AMO_UNSUPPORTED_OP",
		[WIRE_RC_AMO_UNSUPPORTED_DT] = "AMO_UNSUPPORTED_DT",
		[WIRE_RC_AMO_UNSUPPORTED_SIZE] = "AMO_UNSUPPORTED_SIZE",
		[WIRE_RC_AMO_UNALIGNED] = "AMO_UNALIGNED",
		[WIRE_RC_AMO_FP_NAN] = "AMO_FP_NAN",
		[WIRE_RC_AMO_FP_UNDERFLOW] = "AMO_FP_UNDERFLOW",
		[WIRE_RC_AMO_FP_OVERFLOW] = "AMO_FP_OVERFLOW",
		[WIRE_RC_AMO_FP_INEXACT] = "AMO_FP_INEXACT",
		[WIRE_RC_PERM_VIOLATION] = "PERM_VIOLATION",
		[WIRE_RC_OP_VIOLATION] = "OP_VIOLATION",
		[WIRE_RC_BAD_INDEX] = "BAD_INDEX",
		[WIRE_RC_BAD_PID] = "BAD_PID",
		[WIRE_RC_BAD_JOB_ID] = "BAD_JOB_ID",
		[WIRE_RC_BAD_MKEY] = "BAD_MKEY",
		[WIRE_RC_BAD_ADDR] = "BAD_ADDR",
		[WIRE_RC_CANCELLED] = "CANCELLED",
		[WIRE_RC_UNDELIVERABLE] = "UNDELIVERABLE",
		[WIRE_RC_UNCOR] = "UNCOR",
		[WIRE_RC_UNCOR_TRNSNT] = "UNCOR_TRNSNT",
		[WIRE_RC_TOO_LONG] = "TOO_LONG",
		[WIRE_RC_INITIATOR_ERROR] = "INITIATOR_ERROR",
		[WIRE_RC_DROPPED] = "DROPPED",
		[WIRE_RC_EXTENDED] = "EXTENDED",
	};
	return name_of(names, COUNT(names), return_code);
}
