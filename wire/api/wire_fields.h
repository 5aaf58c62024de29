/* SPDX-License-Identifier: BSD-3-Clause */
/* The one description of header fields. From it come the accessors (wire_hdr.h), by which wire_print reads the fields
 * it names, the table that tests walk (wire_field.h), and the lists in the Wireshark dissector (wire_lua).
 *
 * WIRE_FIELDS(F, S, B, G) lists, in groups that packets carry together:
 *   G(group)                            the fields that follow are of this group
 *   F(header, type, field, member, shift, bits, show, names, ui, text)
 *                                       `bits` bits of `member` of struct wire_HEADER, the lowest of them bit `shift`;
 *                                       `type` is what holds it in C
 *   S(...)                              the same, without accessors: a group has a field of another one, too
 *   B(header, member, ui, text)         bytes that are no number
 * `show`: DEC, HEX, SIGNED or BOOL. `names`: whose names its values have, or NONE. `ui`, `text`: name in filters and
 * JSON, label in the dissector. */
#ifndef WEFT_WIRE_FIELDS_H
#define WEFT_WIRE_FIELDS_H

#define WIRE_FIELDS_PDS(F, S, B, G)                                                                                    \
	G(TYPE)                                                                                                        \
	F(hdr, uint8_t, type, prologue, 11, 5, DEC, TYPES, "type", "Type")                                             \
	G(NEXT)                                                                                                        \
	F(hdr, uint8_t, next_hdr, prologue, 7, 4, DEC, FORMS, "next_hdr", "Next header")                               \
	G(CTL)                                                                                                         \
	F(hdr, uint8_t, ctl, prologue, 7, 4, DEC, CONTROLS, "cp.type", "Control type")                                 \
	G(FLAGS)                                                                                                       \
	F(hdr, uint8_t, flags, prologue, 0, 7, HEX, NONE, "flags", "Flags")                                            \
	G(REQUEST_FLAGS)                                                                                               \
	F(hdr, uint8_t, retx, prologue, 4, 1, BOOL, NONE, "flags.retx", "RETX: retransmission, or answer to one")      \
	F(hdr, uint8_t, ar, prologue, 3, 1, BOOL, NONE, "flags.ar", "AR: acknowledge at once")                         \
	F(hdr, uint8_t, syn, prologue, 2, 1, BOOL, NONE, "flags.syn", "SYN: the target's PDCID is not known yet")      \
	G(CP_FLAGS)                                                                                                    \
	F(hdr, uint8_t, isrod, prologue, 5, 1, BOOL, NONE, "flags.isrod", "ISROD: for an ordered connection")          \
	S(hdr, uint8_t, retx, prologue, 4, 1, BOOL, NONE, "flags.retx", "")                                            \
	S(hdr, uint8_t, ar, prologue, 3, 1, BOOL, NONE, "flags.ar", "")                                                \
	S(hdr, uint8_t, syn, prologue, 2, 1, BOOL, NONE, "flags.syn", "")                                              \
	G(ACK_FLAGS)                                                                                                   \
	F(hdr, uint8_t, m, prologue, 5, 1, BOOL, NONE, "flags.m", "M: the packet answered was marked")                 \
	S(hdr, uint8_t, retx, prologue, 4, 1, BOOL, NONE, "flags.retx", "")                                            \
	F(hdr, uint8_t, p, prologue, 3, 1, BOOL, NONE, "flags.p", "P: answers a probe")                                \
	F(hdr, uint8_t, clear, prologue, 1, 1, BOOL, NONE, "flags.clear", "Please clear")                              \
	F(hdr, uint8_t, close, prologue, 2, 1, BOOL, NONE, "flags.close", "Please close")                              \
	G(NACK_FLAGS)                                                                                                  \
	S(hdr, uint8_t, m, prologue, 5, 1, BOOL, NONE, "flags.m", "")                                                  \
	S(hdr, uint8_t, retx, prologue, 4, 1, BOOL, NONE, "flags.retx", "")                                            \
	F(hdr, uint8_t, nt, prologue, 3, 1, BOOL, NONE, "flags.nt", "NT: for RUDI")                                    \
	G(RUDI_FLAGS)                                                                                                  \
	S(hdr, uint8_t, m, prologue, 5, 1, BOOL, NONE, "flags.m", "")                                                  \
	S(hdr, uint8_t, retx, prologue, 4, 1, BOOL, NONE, "flags.retx", "")                                            \
	G(REQUEST)                                                                                                     \
	F(hdr, int16_t, clear_offset, clear_offset, 0, 16, SIGNED, NONE, "clear_offset", "CLEAR_PSN offset")           \
	F(hdr, uint32_t, psn, psn, 0, 32, DEC, NONE, "psn", "PSN")                                                     \
	G(IDS)                                                                                                         \
	F(hdr, uint16_t, spdcid, spdcid, 0, 16, DEC, NONE, "spdcid", "Sender's PDCID")                                 \
	F(hdr, uint16_t, dpdcid, dpdcid, 0, 16, DEC, NONE, "dpdcid", "Receiver's PDCID")                               \
	G(SYN_IDS)                                                                                                     \
	S(hdr, uint16_t, spdcid, spdcid, 0, 16, DEC, NONE, "spdcid", "")                                               \
	F(hdr, uint8_t, use_rsv_pdc, dpdcid, 15, 1, BOOL, NONE, "use_rsv_pdc", "Use the reserved PDCs")                \
	F(hdr, uint16_t, psn_offset, dpdcid, 0, 12, DEC, NONE, "psn_offset", "PSN offset from Start_PSN")              \
	G(REQUEST_CC)                                                                                                  \
	F(request_cc, uint8_t, ccc_id, ccc_id, 0, 8, DEC, NONE, "ccc_id", "Congestion control context")                \
	F(request_cc, uint32_t, credit_target, credit_target, 0, 24, DEC, NONE, "credit", "Credit")                    \
	G(ACK)                                                                                                         \
	F(hdr, int16_t, ack_offset, ack_offset, 0, 16, SIGNED, NONE, "ack_offset", "ACK_PSN offset")                   \
	F(hdr, uint32_t, cack, psn, 0, 32, DEC, NONE, "cack", "Cumulative ACK (CACK_PSN)")                             \
	G(ACK_PROBE)                                                                                                   \
	F(hdr, uint16_t, opaque, opaque, 0, 16, HEX, NONE, "opaque", "Probe opaque")                                   \
	S(hdr, uint32_t, cack, psn, 0, 32, DEC, NONE, "cack", "")                                                      \
	G(SACK)                                                                                                        \
	F(ack_cc, uint8_t, cc_type, cc_type_flags, 4, 4, DEC, CC_TYPES, "cc_type", "Congestion control type")          \
	F(ack_cc, uint8_t, cc_flags, cc_type_flags, 0, 4, HEX, NONE, "cc_flags", "Congestion control flags")           \
	F(ack_cc, uint8_t, mpr, mpr, 0, 8, DEC, NONE, "mpr", "Window offered (128 PSNs)")                              \
	F(ack_cc, int16_t, sack_offset, sack_offset, 0, 16, SIGNED, NONE, "sack.offset", "SACK offset")                \
	F(ack_cc, uint64_t, sack_bitmap, sack_bitmap, 0, 64, HEX, NONE, "sack", "SACK bitmap")                         \
	G(NSCC)                                                                                                        \
	F(ack_cc, uint16_t, service_time, service_time, 0, 16, DEC, NONE, "service_time", "Service time (128 ns)")     \
	F(ack_cc, uint8_t, rc, penalty_rcvd, 31, 1, DEC, NONE, "rc", "Restore cwnd")                                   \
	F(ack_cc, uint8_t, rcv_cwnd_pend, penalty_rcvd, 24, 7, DEC, NONE, "rcv_cwnd_pend", "Receiver window penalty")  \
	F(ack_cc, uint32_t, rcvd_bytes, penalty_rcvd, 0, 24, DEC, NONE, "rcvd_bytes", "Received (256 bytes)")          \
	F(ack_cc, uint16_t, ooo_count, ooo_count, 0, 16, DEC, NONE, "ooo_count", "Out of order packets")               \
	G(CREDIT)                                                                                                      \
	F(ack_cc, uint32_t, credit, credit, 0, 24, DEC, NONE, "credit", "")                                            \
	S(ack_cc, uint16_t, ooo_count, credit_ooo_count, 0, 16, DEC, NONE, "ooo_count", "")                            \
	G(ACK_VENDOR)                                                                                                  \
	B(ack_cc, vendor, "ccx", "Vendor state")                                                                       \
	G(ACK_CCX)                                                                                                     \
	B(ack_ccx, vendor, "ccx", "")                                                                                  \
	G(NACK)                                                                                                        \
	F(nack, uint8_t, code, hdr.nack_code, 0, 8, HEX, NACKS, "nack.code", "NACK code")                              \
	F(nack, uint8_t, vendor_code, hdr.nack_vendor, 0, 8, HEX, NONE, "nack.vendor", "Vendor code")                  \
	S(nack, uint32_t, psn, hdr.psn, 0, 32, DEC, NONE, "psn", "")                                                   \
	F(nack, uint32_t, payload, payload, 0, 32, DEC, NONE, "nack.payload", "NACK payload")                          \
	G(NACK_CCX)                                                                                                    \
	B(nack_ccx, vendor, "ccx", "")                                                                                 \
	G(CP)                                                                                                          \
	S(hdr, uint16_t, opaque, opaque, 0, 16, HEX, NONE, "opaque", "")                                               \
	S(hdr, uint32_t, psn, psn, 0, 32, DEC, NONE, "psn", "")                                                        \
	F(cp, uint32_t, payload, payload, 0, 32, DEC, NONE, "cp.payload", "Control payload")                           \
	G(RUDI)                                                                                                        \
	S(hdr, uint32_t, pkt_id, psn, 0, 32, DEC, NONE, "pkt_id", "Packet id")

#define WIRE_FIELDS_SES(F, S, B, G)                                                                                    \
	G(REQ)                                                                                                         \
	F(req, uint8_t, opcode, opcode, 0, 6, DEC, OPCODES, "ses.opcode", "Operation")                                 \
	F(req, uint8_t, version, flags, 6, 2, DEC, NONE, "ses.version", "Version")                                     \
	F(req, uint8_t, flags, flags, 0, 6, HEX, NONE, "ses.flags", "Flags")                                           \
	F(req, uint8_t, dc, flags, 5, 1, BOOL, NONE, "ses.dc", "DC: delivery complete")                                \
	F(req, uint8_t, ie, flags, 4, 1, BOOL, NONE, "ses.ie", "IE: initiator error")                                  \
	F(req, uint8_t, rel, flags, 3, 1, BOOL, NONE, "ses.rel", "REL: relative addressing")                           \
	F(req, uint8_t, hd, flags, 2, 1, BOOL, NONE, "ses.hd", "HD: header data")                                      \
	F(req, uint8_t, eom, flags, 1, 1, BOOL, NONE, "ses.eom", "EOM: end of message")                                \
	F(req, uint8_t, som, flags, 0, 1, BOOL, NONE, "ses.som", "SOM: start of message")                              \
	F(req, uint8_t, ri_generation, ri_generation, 0, 8, DEC, NONE, "ses.ri_generation",                            \
	  "Resource index generation")                                                                                 \
	F(req, uint32_t, job_id, job_id, 0, 24, DEC, NONE, "ses.job_id", "Job id")                                     \
	F(req, uint16_t, pid_on_fep, pid_on_fep, 0, 12, DEC, NONE, "ses.pid_on_fep", "PIDonFEP")                       \
	F(req, uint16_t, resource_index, resource_index, 0, 12, DEC, NONE, "ses.resource_index", "Resource index")     \
	G(STD)                                                                                                         \
	F(std, uint16_t, message_id, req.id_or_length, 0, 16, DEC, NONE, "ses.message_id", "Message id")               \
	F(std, uint64_t, buffer_offset, buffer_offset, 0, 64, DEC, NONE, "ses.buffer_offset", "Buffer offset")         \
	F(std, uint32_t, initiator, initiator, 0, 32, DEC, NONE, "ses.initiator", "Initiator")                         \
	F(std, uint64_t, match, match, 0, 64, HEX, NONE, "ses.match", "Match bits or memory key")                      \
	F(std, uint32_t, request_length, request_length, 0, 32, DEC, NONE, "ses.request_length", "Request length")     \
	G(STD_SOM)                                                                                                     \
	F(std, uint64_t, header_data, header_data, 0, 64, HEX, NONE, "ses.header_data", "Header data")                 \
	G(STD_PART)                                                                                                    \
	F(std, uint16_t, payload_length, payload_length, 0, 14, DEC, NONE, "ses.payload_length", "Payload length")     \
	F(std, uint32_t, message_offset, message_offset, 0, 32, DEC, NONE, "ses.message_offset", "Message offset")     \
	G(MEDIUM)                                                                                                      \
	F(medium, uint16_t, length, req.id_or_length, 0, 14, DEC, NONE, "ses.payload_length", "")                      \
	F(medium, uint32_t, initiator, initiator, 0, 32, DEC, NONE, "ses.initiator", "")                               \
	F(medium, uint64_t, match, match, 0, 64, HEX, NONE, "ses.match", "")                                           \
	G(MEDIUM_DATA)                                                                                                 \
	F(medium, uint64_t, header_data, offset_or_data, 0, 64, HEX, NONE, "ses.header_data", "")                      \
	G(MEDIUM_OFFSET)                                                                                               \
	F(medium, uint64_t, buffer_offset, offset_or_data, 0, 64, DEC, NONE, "ses.buffer_offset", "")                  \
	G(SMALL)                                                                                                       \
	F(small, uint16_t, length, req.id_or_length, 0, 14, DEC, NONE, "ses.payload_length", "")                       \
	F(small, uint64_t, buffer_offset, buffer_offset, 0, 64, DEC, NONE, "ses.buffer_offset", "")                    \
	G(RESPONSE)                                                                                                    \
	F(rsp, uint8_t, list, opcode, 6, 2, DEC, NONE, "rsp.list", "List")                                             \
	F(rsp, uint8_t, opcode, opcode, 0, 6, DEC, RESPONSES, "rsp.opcode", "Response")                                \
	F(rsp, uint8_t, version, code, 6, 2, DEC, NONE, "ses.version", "")                                             \
	F(rsp, uint8_t, return_code, code, 0, 6, HEX, CODES, "rsp.code", "Return code")                                \
	F(rsp, uint32_t, job_id, job_id, 0, 24, DEC, NONE, "ses.job_id", "")                                           \
	G(RSP)                                                                                                         \
	F(rsp, uint16_t, message_id, id_or_length, 0, 16, DEC, NONE, "ses.message_id", "")                             \
	F(rsp, uint8_t, ri_generation, ri_generation, 0, 8, DEC, NONE, "ses.ri_generation", "")                        \
	F(rsp, uint32_t, modified_length, modified_length, 0, 32, DEC, NONE, "ses.modified_length", "Modified length") \
	G(RSP_DATA)                                                                                                    \
	S(rsp, uint16_t, message_id, id_or_length, 0, 16, DEC, NONE, "ses.message_id", "")                             \
	F(rsp_data, uint16_t, read_message_id, read_message_id, 0, 16, DEC, NONE, "ses.read_message_id",               \
	  "Read message id")                                                                                           \
	F(rsp_data, uint16_t, payload_length, payload_length, 0, 14, DEC, NONE, "ses.payload_length", "")              \
	F(rsp_data, uint32_t, modified_length, modified_length, 0, 32, DEC, NONE, "ses.modified_length", "")           \
	F(rsp_data, uint32_t, message_offset, message_offset, 0, 32, DEC, NONE, "ses.message_offset", "")              \
	G(RSP_SMALL)                                                                                                   \
	F(rsp, uint16_t, payload_length, id_or_length, 0, 14, DEC, NONE, "ses.payload_length", "")                     \
	F(rsp_small, uint32_t, original_psn, original_psn, 0, 32, DEC, NONE, "ses.original_psn",                       \
	  "Original request's PSN")                                                                                    \
	G(AMO)                                                                                                         \
	F(amo, uint8_t, opcode, opcode, 0, 8, HEX, NONE, "amo.opcode", "Atomic operation")                             \
	F(amo, uint8_t, datatype, datatype, 0, 8, HEX, NONE, "amo.datatype", "Atomic data type")                       \
	F(amo, uint8_t, control, control, 0, 8, HEX, NONE, "amo.control", "Atomic control")                            \
	G(OPERANDS)                                                                                                    \
	B(amo, compare, "amo.compare", "Compare operand")                                                              \
	B(amo, swap, "amo.swap", "Swap operand")                                                                       \
	G(RENDEZVOUS)                                                                                                  \
	F(rndv, uint32_t, eager_length, eager_length, 0, 32, DEC, NONE, "rndv.eager_length", "Eager length")           \
	F(rndv, uint8_t, ri_generation, target, 24, 8, DEC, NONE, "rndv.ri_generation",                                \
	  "Read resource index generation")                                                                            \
	F(rndv, uint16_t, pid_on_fep, target, 12, 12, DEC, NONE, "rndv.pid_on_fep", "Read PIDonFEP")                   \
	F(rndv, uint16_t, resource_index, target, 0, 12, DEC, NONE, "rndv.resource_index", "Read resource index")      \
	F(rndv, uint64_t, offset, offset, 0, 64, DEC, NONE, "rndv.buffer_offset", "Read buffer offset")                \
	F(rndv, uint64_t, match, match, 0, 64, HEX, NONE, "rndv.match", "Read memory key")

#define WIRE_FIELDS(F, S, B, G) WIRE_FIELDS_PDS(F, S, B, G) WIRE_FIELDS_SES(F, S, B, G)

#endif
