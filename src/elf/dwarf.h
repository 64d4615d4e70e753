/*
 * dwarf.h - the parts of DWARF that tell functions, inlined calls and lines
 *
 * elfutils' libdw reads all of DWARF, one entry at a time through several calls, from one thread
 * per handle: in a program with 300 MB of debug information its eu-addr2line takes 20 ms for an
 * address, 500 times what llvm-symbolizer does.  We ask one question of every unit only, so this
 * reader goes over a unit's entries once, looks at nothing but the attributes it needs, and any
 * number of threads may read one file.
 *
 * All offsets and sizes in debug information are a stranger's.  Reads are bounds-checked
 * (dwarf-read.h), and references are followed a few steps only.  What can be reached twice -
 * tables shared by units, lists of ranges - is paid for from an allowance that is in proportion
 * to the file; where it is used up, reading ends with what is known.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ELF_DWARF_H
#define ELF_DWARF_H

#include "base/arena.h"
#include "base/table.h"
#include "elf/dwarf-read.h"

enum {
	DW_TAG_CLASS_TYPE = 0x02,
	DW_TAG_LEXICAL_BLOCK = 0x0b,
	DW_TAG_COMPILE_UNIT = 0x11,
	DW_TAG_STRUCTURE_TYPE = 0x13,
	DW_TAG_UNION_TYPE = 0x17,
	DW_TAG_ENUMERATION_TYPE = 0x04,
	DW_TAG_SUBROUTINE_TYPE = 0x15,
	DW_TAG_INLINED_SUBROUTINE = 0x1d,
	DW_TAG_SUBPROGRAM = 0x2e,
	DW_TAG_PARTIAL_UNIT = 0x3c,
	DW_TAG_CALL_SITE = 0x48,
	DW_TAG_SKELETON_UNIT = 0x4a,
	DW_TAG_GNU_CALL_SITE = 0x4109,
};

enum {
	DW_UT_COMPILE = 1,
	DW_UT_TYPE = 2,
	DW_UT_PARTIAL = 3,
	DW_UT_SKELETON = 4,
	DW_UT_SPLIT_COMPILE = 5,
	DW_UT_SPLIT_TYPE = 6,
};

enum {
	DW_FORM_ADDR = 0x01,
	DW_FORM_BLOCK2 = 0x03,
	DW_FORM_BLOCK4 = 0x04,
	DW_FORM_DATA2 = 0x05,
	DW_FORM_DATA4 = 0x06,
	DW_FORM_DATA8 = 0x07,
	DW_FORM_STRING = 0x08,
	DW_FORM_BLOCK = 0x09,
	DW_FORM_BLOCK1 = 0x0a,
	DW_FORM_DATA1 = 0x0b,
	DW_FORM_FLAG = 0x0c,
	DW_FORM_SDATA = 0x0d,
	DW_FORM_STRP = 0x0e,
	DW_FORM_UDATA = 0x0f,
	DW_FORM_REF_ADDR = 0x10,
	DW_FORM_REF1 = 0x11,
	DW_FORM_REF2 = 0x12,
	DW_FORM_REF4 = 0x13,
	DW_FORM_REF8 = 0x14,
	DW_FORM_REF_UDATA = 0x15,
	DW_FORM_INDIRECT = 0x16,
	DW_FORM_SEC_OFFSET = 0x17,
	DW_FORM_EXPRLOC = 0x18,
	DW_FORM_FLAG_PRESENT = 0x19,
	DW_FORM_STRX = 0x1a,
	DW_FORM_ADDRX = 0x1b,
	DW_FORM_REF_SUP4 = 0x1c,
	DW_FORM_STRP_SUP = 0x1d,
	DW_FORM_DATA16 = 0x1e,
	DW_FORM_LINE_STRP = 0x1f,
	DW_FORM_REF_SIG8 = 0x20,
	DW_FORM_IMPLICIT_CONST = 0x21,
	DW_FORM_LOCLISTX = 0x22,
	DW_FORM_RNGLISTX = 0x23,
	DW_FORM_REF_SUP8 = 0x24,
	DW_FORM_STRX1 = 0x25,
	DW_FORM_STRX2 = 0x26,
	DW_FORM_STRX3 = 0x27,
	DW_FORM_STRX4 = 0x28,
	DW_FORM_ADDRX1 = 0x29,
	DW_FORM_ADDRX2 = 0x2a,
	DW_FORM_ADDRX3 = 0x2b,
	DW_FORM_ADDRX4 = 0x2c,
	DW_FORM_GNU_ADDR_INDEX = 0x1f01,
	DW_FORM_GNU_STR_INDEX = 0x1f02,
	DW_FORM_GNU_REF_ALT = 0x1f20,
	DW_FORM_GNU_STRP_ALT = 0x1f21,
};

/* The attributes we look at; AT_NONE are all others. */
enum attribute {
	AT_NONE,
	AT_SIBLING,
	AT_NAME,
	AT_LINKAGE_NAME,
	AT_ABSTRACT_ORIGIN,
	AT_SPECIFICATION,
	AT_LOW_PC,
	AT_HIGH_PC,
	AT_RANGES,
	AT_CALL_FILE,
	AT_CALL_LINE,
	AT_CALL_COLUMN,
	AT_DECL_LINE,
	AT_STMT_LIST,
	AT_COMP_DIR,
	AT_LANGUAGE,
	AT_STR_OFFSETS_BASE,
	AT_ADDR_BASE,
	AT_RNGLISTS_BASE,
	AT_RANGES_BASE,
	AT_DWO_NAME,
	AT_DWO_ID,
	AT_COUNT,
};

/* ------------------------------------------------------------------ files and units */

struct dwarf_sections {
	struct bytes info, abbrev, line, str, line_str, ranges, rnglists, addr, str_offsets;
};

/* A unit: what one run of a compiler left. */
struct dwarf_unit {
	struct dwarf *dwarf; /* where it is */
	uint64_t offset, end;
	uint64_t entries; /* where they start */
	uint64_t abbrev;
	uint64_t dwo_id;
	uint16_t version;
	uint8_t type, address_size;
	bool is64, c_family, has_code, has_lines;
	uint64_t low_pc, lines; /* 'lines' is an offset in .debug_line */
	uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
	struct str comp_dir, name, dwo_name;
	const struct dwarf_unit *skeleton; /* of one in a .dwo file */
};

/* The debug information of one file.  Read-only once it has been opened. */
struct dwarf {
	struct dwarf_sections s;
	const struct dwarf *alt;  /* the supplementary file, or NULL */
	struct dwarf_unit *units; /* by offset */
	size_t nunits, cap_units;
};

/* ------------------------------------------------------------------ abbreviations */

enum { SIZE_VARIES = 255 };

struct form {
	uint16_t form;
	uint8_t attribute; /* enum attribute */
	uint8_t size;      /* in bytes, or SIZE_VARIES */
	uint32_t gap;      /* bytes before it that nobody looks at */
	uint64_t implicit; /* the value of one that has no bytes, else 0 */
};

enum { LENGTH_VARIES = -1 };

/* What entries are to someone who looks for code. */
enum entry_kind {
	ENTRY_OTHER, /* code may be in what is in it */
	ENTRY_CODE,  /* a function, an inlined call or a block */
	ENTRY_NAME,  /* a function without code, unless one that is local to it has some */
	ENTRY_TYPE,  /* in C and C++ there is no code in it, unless it is local to a function */
	ENTRY_CALL,  /* no code in it */
};

struct abbrev {
	uint64_t code;
	uint16_t tag;
	bool has_children;
	uint8_t kind;      /* enum entry_kind */
	int32_t length;    /* of all attributes, or LENGTH_VARIES */
	int32_t sibling;   /* where in them DW_AT_sibling is, four bytes long, or -1 */
	int32_t low, high; /* where an address of eight bytes and its code's size are, or -1 */
	uint32_t has;      /* bit of each enum attribute */
	uint32_t first, n; /* forms that are looked at, */
	uint32_t rest;     /* and bytes behind them */
	uint32_t skip;     /* where LENGTH_VARIES: the first of its skips */
};

/* So many bytes, then a value of that form; with form 0 there is no more. */
struct skip {
	uint32_t fixed;
	uint16_t form;
};

/*
 * How to step over an entry, for those with small codes.  Most entries are stepped over, and this
 * is all that has to be looked at then.
 */
enum { HOPS = 128, HOP_MOST = 255 };

enum hop_type {
	HOP_NONE,
	HOP_LEAF, /* one without others in it, */
	HOP_LEAF_CODE,
	HOP_OVER, /* and from here on those with: this plus enum entry_kind */
};

struct hop {
	uint8_t type;
	uint8_t length;  /* of a leaf with its code: so many bytes */
	uint8_t sibling; /* of the others: where DW_AT_sibling is */
};

struct abbrevs {
	uint64_t offset; /* in .debug_abbrev: what they are known by, with the next two */
	const struct dwarf *dwarf;
	uint16_t version;
	uint8_t address_size;
	bool is64;
	struct abbrev *list; /* by code */
	size_t n, cap;
	struct form *forms;
	size_t nforms, cap_forms;
	struct skip *skips;
	size_t nskips, cap_skips;
	struct hop hops[HOPS]; /* by code */
};

/* ------------------------------------------------------------------ one thread's reader */

/* A value as it stands in an entry; what it means depends on the form. */
struct value {
	uint16_t form;
	uint64_t u; /* of DW_FORM_string: where it is in .debug_info */
};

struct entry {
	const struct abbrev *abbrev;
	uint32_t has; /* as its abbreviation's */
	struct value v[AT_COUNT];
};

/* The first entry of a unit. */
struct root {
	struct entry e;
	struct abbrev abbrev;
};

static inline bool entry_has(const struct entry *e, enum attribute a)
{
	return e->has >> a & 1;
}

struct dwarf_range {
	uint64_t low, high;
};

/* What a reader needs room for, and may use over and over. */
struct dwarf_reader {
	uint64_t allowance; /* how many more bytes and list entries may be looked at */
	struct abbrevs **cache;
	size_t ncache, cap_cache;
	struct table index; /* into 'cache' */
	size_t cached_forms;
	const struct abbrevs *last;
	struct abbrevs one;         /* of dwarf_one_abbrev() */
	struct dwarf_range *ranges; /* of the entry read last */
	size_t nranges, cap_ranges;
	uint64_t code_start; /* no code lies below */
};

void dwarf_reader_init(struct dwarf_reader *r, uint64_t allowance, uint64_t code_start);
void dwarf_reader_release(struct dwarf_reader *r);

/* Takes 'n' from the allowance; false when there is not enough left. */
static inline bool dwarf_pay(struct dwarf_reader *r, uint64_t n)
{
	if (n > r->allowance) {
		r->allowance = 0;
		return false;
	}
	r->allowance -= n;
	return true;
}

/* The abbreviations of a unit; NULL if they are damaged.  Valid until the next call. */
const struct abbrevs *dwarf_abbrevs(struct dwarf_reader *r, const struct dwarf_unit *u);

/*
 * The abbreviation with that code alone, in '*a': for entries of units whose other ones may never
 * be looked at.  What entry_read() needs with it, valid until the next call; NULL if there is none.
 */
const struct abbrevs *dwarf_one_abbrev(struct dwarf_reader *r, const struct dwarf_unit *u,
				       uint64_t code, struct abbrev *a);

const struct abbrev *abbrev_search(const struct abbrevs *t, uint64_t code);

/* Compilers number them from 1. */
static inline const struct abbrev *abbrev_find(const struct abbrevs *t, uint64_t code)
{
	if (code - 1 < t->n && t->list[code - 1].code == code)
		return &t->list[code - 1];
	return abbrev_search(t, code);
}

/* ------------------------------------------------------------------ attributes */

/* The size of a form in bytes, or SIZE_VARIES. */
uint8_t form_size(uint64_t form, unsigned address_size, bool is64, unsigned version);
/* Reads one value; false for a form there is not. */
bool form_read(struct cursor *c, const struct form *f, const struct dwarf_unit *u, struct value *v);

/* Reads the attributes of the entry whose abbreviation has just been read. */
bool entry_read(struct cursor *c, const struct abbrevs *t, const struct abbrev *a,
		const struct dwarf_unit *u, struct entry *e);
bool entry_skip_varying(struct cursor *c, const struct abbrevs *t, const struct abbrev *a,
			const struct dwarf_unit *u);

/* Steps over them. */
static inline bool entry_skip(struct cursor *c, const struct abbrevs *t, const struct abbrev *a,
			      const struct dwarf_unit *u)
{
	if (a->length != LENGTH_VARIES)
		return cursor_skip(c, (uint64_t)a->length);
	return entry_skip_varying(c, t, a, u);
}

/* Reads the entry at 'offset' of .debug_info. */
bool entry_read_at(struct dwarf_reader *r, const struct dwarf_unit *u, uint64_t offset,
		   struct entry *e);
bool root_read(struct dwarf_reader *r, const struct dwarf_unit *u, struct root *root);

/* Text, "" if there is none.  It lives as long as the sections. */
struct str value_text(const struct dwarf_unit *u, const struct value *v);
/* Says that this will be asked for soon. */
static inline void value_prefetch(const struct dwarf_unit *u, const struct value *v)
{
	if (v->form == DW_FORM_STRP && v->u < u->dwarf->s.str.n)
		for (unsigned i = 0; i < 192; i += 64)
			__builtin_prefetch(u->dwarf->s.str.p + v->u + i);
}
bool value_address(const struct dwarf_unit *u, const struct value *v, uint64_t *address);
uint64_t value_number(const struct value *v);

/* The unit and offset that a reference leads to. */
bool value_reference(const struct dwarf_unit *u, const struct value *v,
		     const struct dwarf_unit **to, uint64_t *offset);

/* ------------------------------------------------------------------ units and ranges */

/* Finds the units of .debug_info and reads what their first entries say. */
void dwarf_read_units(struct dwarf *d, struct dwarf_reader *r);
const struct dwarf_unit *dwarf_unit_at(const struct dwarf *d, uint64_t offset);
/* Puts the addresses of an entry into r->ranges; what the linker threw away is left out. */
void dwarf_read_ranges(struct dwarf_reader *r, const struct dwarf_unit *u, const struct entry *e);

/* ------------------------------------------------------------------ lines */

struct line_file {
	struct str name;
	uint64_t folder;
	struct str path; /* once it was asked for */
	bool has_path;
};

struct line_place {
	uint64_t file;
	uint32_t line, column;
	bool known;
};

/* The line table of one unit, and room for the next one's. */
struct line_table {
	const struct dwarf_unit *unit;
	struct line_file *files;
	size_t nfiles, cap_files;
	struct str *folders;
	size_t nfolders, cap_folders;
	bool from_zero; /* DWARF 5 counts files and folders from 0 */
};

/*
 * dwarf_read_lines() reads the table of a unit, and finds the places of 'n' addresses in
 * ascending order.
 */
void dwarf_read_lines(struct dwarf_reader *r, const struct dwarf_unit *u, const uint64_t *addresses,
		      size_t n, struct line_table *t, struct line_place *places);
/* The path of file number 'i' of the table, in 'a'; "" if there is no such file. */
struct str line_file_path(struct line_table *t, uint64_t i, struct arena *a);
void line_table_release(struct line_table *t);

/* ------------------------------------------------------------------ scopes */

/* What is inlined into what. */
struct scope {
	const struct dwarf_unit *unit;
	uint64_t entry;    /* offset of the entry that has the name */
	uint32_t parent;   /* the scope it is inlined into plus one; 0 for a function of its own */
	uint32_t function; /* for whoever uses scopes: what is known of it, 0 at first */
	uint32_t call_line, call_column;
	uint64_t call_file;
	uint64_t size; /* of the piece of code that an address was found in */
};

/* An entry that others are in: its scope plus one, and the addresses that may be in it. */
struct scope_level {
	uint32_t scope, from, to;
};

struct scopes {
	struct scope *list;
	size_t n, cap;
	struct scope_level *stack; /* while reading */
	size_t cap_stack;
};

/*
 * dwarf_read_scopes() goes over the entries of a unit, once.  innermost[i] becomes the scope of
 * addresses[i] plus one, or 0.
 */
void dwarf_read_scopes(struct dwarf_reader *r, const struct dwarf_unit *u,
		       const uint64_t *addresses, size_t n, struct scopes *s, uint32_t *innermost);
void scopes_release(struct scopes *s);

/*
 * What entries say of a function: up to two names, one of which the linker knows, and the line it
 * starts at, or 0.
 */
struct scope_name {
	const struct dwarf_unit *unit; /* of the entry to look at next; NULL: there is no more */
	uint64_t entry;
	const struct dwarf_unit *linkage_unit, *name_unit; /* NULL: there is none */
	struct value linkage, name;
	uint32_t line;
};

/* So many entries are looked at for one name, at most. */
enum { SCOPE_STEPS_MAX = 16 };

/* Looks at one entry.  False if that was the last one. */
bool scope_learn(struct dwarf_reader *r, struct scope_name *n);
/* The name, "" if it has none. */
struct str scope_text(const struct scope_name *n);

/* The first of 'n' ascending addresses that is not below 'address'. */
static inline size_t first_from(const uint64_t *addresses, size_t n, uint64_t address)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (addresses[middle] < address)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

#endif /* ELF_DWARF_H */
