/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of dwarf/ only. Functions return a negative errno; only -ENOMEM ends a
 * lookup, other errors make one piece of information unknown.
 */
#ifndef DWARF_INTERNAL_H
#define DWARF_INTERNAL_H

#include <errno.h>

#include "base/cursor.h"
#include "base/idtable.h"
#include "base/leb128.h"
#include "base/strtab.h"
#include "base/work.h"
#include "dwarf/constants.h"
#include "dwarf/dwarf.h"

/* Sections that are held whole: compressed ones, which cannot be read in part, and small ones. A
 * release build of the JVM has 330 MB of them. The rest of DWARF_MAX_BYTES is for the cache. */
#define DWARF_MAX_WHOLE_BYTES (448ull << 20)
/* Decoded units; the least recently used are dropped first. */
#define DWARF_CACHE_BYTES (256u << 20)
#define DWARF_CACHE_MIN_BYTES (16u << 20)  /* minimum, however little memory is left */
#define DWARF_MAX_UNITS (1u << 20)         /* a browser has 30,000 */
#define DWARF_MAX_UNIT_BYTES (256u << 20)  /* link-time optimization makes units of 50 MB */
#define DWARF_MAX_STRING_BYTES (64u << 20) /* for all names and paths returned */
#define DWARF_MAX_NAME_BYTES (1u << 20)    /* per name; longer ones are ignored */
/* Limit on reading and decoding, also repeatedly after the cache has dropped data: this many times
 * the stored size (for a compressed section, its plausible decompressed size), plus a constant. */
#define DWARF_MAX_WORK_TIMES 4
#define DWARF_MAX_WORK_BYTES (4ull << 30)
#define DWARF_FREE_WORK_BYTES (4u << 20)
#define DWARF_MAX_REFERENCES 16 /* from an instance to its origin to its declaration … */

enum dw_section_id {
	DW_SEC_INFO,
	DW_SEC_ABBREV,
	DW_SEC_LINE,
	DW_SEC_STR,
	DW_SEC_LINE_STR,
	DW_SEC_STR_OFFSETS,
	DW_SEC_ADDR,
	DW_SEC_RANGES,
	DW_SEC_RNGLISTS,
	DW_SEC_CU_INDEX,
	DW_NR_SECTIONS,
};

#define DW_NR_ABBREVS 8 /* cached abbreviation tables */
#define DW_NR_DWOS 4    /* cached .dwo files */

struct elf_section;
struct elf_strings;

/* A section, read in parts where possible. */
struct dw_section {
	const struct elf_image *img;  /* borrowed from the file */
	const struct elf_section *at; /* borrowed from the image; NULL: absent */
	uint64_t size;                /* unpacked */
	bool is_packed;
	bool is_cached;              /* also counted with a unit in the cache */
	int error;                   /* result of a failed load */
	uint8_t *whole;              /* owned; NULL: not loaded, or read in parts */
	struct elf_strings *strings; /* owned; for a section read in parts */
};

extern const char *const dw_section_names[DW_NR_SECTIONS]; /* names outside .dwo files */

/* A range of bytes of a section. */
struct dw_view {
	const uint8_t *bytes;
	size_t n;
	uint8_t *owned; /* NULL: they are in a section that is held whole */
};

struct dw_unit;

/* The position of a unit, and the unit while it is in memory. */
struct dw_unit_at {
	uint64_t offset;
	struct dw_unit *unit; /* owned by the cache */
};

/* One ELF file with DWARF: the debug file, dwz's file, a .dwo, a .dwp. */
struct dw_file {
	struct dwarf *d;             /* borrowed: its owner */
	const struct elf_image *img; /* borrowed, or owned_img */
	struct elf_image *owned_img; /* owned; NULL: borrowed */
	int fd;                      /* owned; -1: the image is borrowed */
	uint32_t serial;             /* unique, even after a file was freed */
	bool is_split;               /* .dwo or .dwp */
	uint32_t nr_refs;            /* of a .dwo: skeletons and the reader's list */
	char *path;                  /* owned; of a .dwo; NULL: none */
	struct dw_section sections[DW_NR_SECTIONS];
	struct dw_abbrevs
		*abbrevs[DW_NR_ABBREVS]; /* recently used tables; each holds a reference */
	struct dw_unit_at *units;        /* owned; sorted by offset */
	uint32_t nr_units;
	uint32_t cap_units;
	bool has_scanned_units;
};

struct dw_attr {
	uint16_t name; /* enum dw_at; 0: unknown */
	uint16_t form;
	int64_t implicit; /* of DW_FORM_implicit_const */
};

/* How a traversal treats an entry. */
enum dw_kind {
	DW_KIND_LEAF,     /* contains nothing of interest */
	DW_KIND_SCOPE,    /* may contain functions */
	DW_KIND_FUNCTION, /* subprogram */
	DW_KIND_INLINED,
};

struct dw_abbrev {
	uint64_t code;
	uint32_t first_attr;
	uint32_t nr_attrs;
	int32_t fixed_bytes; /* of all attributes; -1: variable */
	uint16_t tag;
	uint8_t kind; /* enum dw_kind */
	bool has_children;
	bool has_sibling;
};

/* A table, as far as it has been read; units that refer to the same table share it. */
struct dw_abbrevs {
	uint32_t nr_refs;
	uint64_t offset;
	uint16_t version;
	uint8_t addr_bytes, offset_bytes; /* of its units; entry sizes depend on them */
	struct cursor rest;               /* not read yet; in the section, held whole */
	uint64_t last_code;
	bool is_sorted;
	int error;                 /* 1: completely read; negative: the rest cannot be read */
	struct dw_abbrev *abbrevs; /* owned; sorted by code */
	uint32_t nr, cap;
	struct dw_attr *attrs; /* owned */
	uint32_t nr_attrs, cap_attrs;
	uint32_t nr_charged; /* attributes charged */
};

struct dw_value {
	uint16_t form; /* 0: no value */
	uint64_t u;
	const char *s; /* of DW_FORM_string, in the unit's bytes */
};

/* Values of a unit's first entry. */
struct dw_root {
	uint16_t tag;
	struct dw_value low_pc, high_pc, ranges;
	struct dw_value comp_dir, name, dwo_name;
	struct dw_value stmt_list, dwo_id, language;
	struct dw_value str_offsets_base, addr_base, rnglists_base, ranges_base;
	bool has_children;
};

struct dw_lines;
struct dw_scopes;
struct dw_places;

struct dw_unit {
	struct dw_file *file; /* borrowed */
	uint64_t offset, end; /* in .debug_info */
	uint32_t first_die;   /* bytes after offset */
	uint16_t version;
	uint8_t addr_bytes, offset_bytes; /* 4 or 8 */
	uint8_t type;                     /* enum dw_unit_type */
	uint64_t dwo_id;                  /* 0: none */
	uint64_t abbrev_offset;
	struct dw_view view;        /* from offset to end, or only the beginning */
	struct dw_abbrevs *abbrevs; /* a reference; NULL: not read */
	struct dw_root root;
	uint64_t low_pc; /* base of its range lists */
	/* The start of this unit's part of each section in a .dwp; 0 elsewhere. */
	uint64_t line_base, str_offsets_base, addr_base, rnglists_base, ranges_base;

	struct dw_unit *skeleton;   /* borrowed: of a split unit, its skeleton in the program */
	struct dw_file *split_file; /* a reference; NULL: none, or the .dwp */
	struct dw_unit *split;      /* owned */
	bool has_tried_split;

	struct dw_lines *lines; /* owned; NULL: not decoded yet, or none */
	bool has_tried_lines;
	struct dw_scopes *scopes; /* owned; likewise */
	bool has_tried_scopes;
	struct dw_places *places; /* owned; likewise */
	bool has_tried_places;

	struct dw_unit *newer, *older; /* the cache's list */
	uint64_t held_bytes;
	uint32_t nr_pins; /* in use: must not be dropped */
};

struct dw_range {
	uint64_t start, end;
};

struct dw_ranges {
	struct dw_range *ranges; /* owned */
	uint32_t nr, cap;
};

/* The address ranges of units; sorted by start. */
struct dw_unit_range {
	uint64_t start, end;
	uint64_t max_end; /* of this range and all before it */
	uint32_t unit;    /* index in the main file */
};

struct dw_name {
	uint64_t die; /* offset in .debug_info */
	uint32_t file;
	uint32_t name; /* in the string table; 0: none */
	uint32_t scope;
	uint32_t scope_mangled_bytes;
	uint32_t start_line;
	bool is_linkage_name;
};

/* A split file that the caller is asked to open. */
struct dw_request {
	char *path;       /* owned; NULL: the .dwp */
	bool is_open;     /* dwarf_resolve() has returned -EAGAIN for it */
	bool is_answered; /* by dwarf_supply() */
	int fd;           /* owned; the answer; -1: the file is not available */
};

struct dwarf {
	struct dwarf_files files;
	struct dw_file main;
	struct dw_file alt;
	struct dw_file *dwp; /* owned; NULL: none, or not tried */
	bool has_tried_dwp;
	uint32_t nr_files; /* ever opened */

	struct dw_range *code; /* owned; executable ranges: sorted, disjoint */
	uint32_t nr_code;
	struct dw_unit_range *ranges; /* owned */
	uint32_t nr_ranges, cap_ranges;
	uint32_t nr_indexed; /* units of the main file; fewer than all while a .dwo is awaited */
	bool is_indexed;
	struct dw_request request;

	struct dw_unit *newest, *oldest; /* the cache */
	uint64_t cached_bytes;
	uint64_t whole_bytes;
	uint64_t dwo_bytes; /* part of whole_bytes that is also in cached_bytes */
	uint64_t max_bytes;
	struct work work;

	struct dw_file *dwos[DW_NR_DWOS]; /* recently used ones; each holds a reference */
	uint32_t next_dwo;
	uint64_t *
		allowed; /* owned; identities of .dwo files whose size was added to the work limit */
	uint32_t nr_allowed, cap_allowed;
	struct idtable allowed_index;

	struct strtab strings;
	struct dw_name *names; /* owned */
	uint32_t nr_names, cap_names;
	struct idtable name_index;
	uint32_t naming_depth; /* nesting depth of functions whose names are being built */
	struct dwarf_losses losses;
};

/* section.c */
void dw_section_init(struct dw_section *s, const struct elf_image *img, const char *name);
void dw_section_done(struct dwarf *d, struct dw_section *s);
/* -EBADMSG: outside the section; -E2BIG: over the budget. */
int dw_section_view(struct dwarf *d, struct dw_section *s, uint64_t offset, uint64_t n,
		    struct dw_view *ret_view);
void dw_view_done(struct dw_view *v);
/* Everything from an offset on. -ENOENT: there is no such section. */
int dw_section_whole(struct dwarf *d, struct dw_section *s, uint64_t offset,
		     struct cursor *ret_cursor);
/* Valid until the next call for this section. NULL: no string there. */
const char *dw_section_string(struct dwarf *d, struct dw_section *s, uint64_t offset);
/* Charges work in advance. False: the limit is used up, or the work was cancelled; this is
 * permanent, and the file is abandoned. */
bool dw_work(struct dwarf *d, uint64_t bytes);
bool dw_is_over(const struct dwarf *d);
/* Memory still available for decoding. */
uint64_t dw_room_bytes(const struct dwarf *d);
/* The number of items of that size that fit, at most `most`. */
uint32_t dw_room_for(const struct dwarf *d, size_t item_bytes, uint32_t most);

/* dwarf_file.c */
void dw_file_init(struct dw_file *f, struct dwarf *d, const struct elf_image *img, bool is_split);
void dw_file_done(struct dw_file *f);
/* Adds the allowance for the file's size to the work limit. */
void dw_file_allow(struct dw_file *f);
/* Takes fd, even on failure. The caller owns one reference. */
int dw_file_new(struct dwarf *d, int fd, struct dw_file **ret_file);
struct dw_file *dw_file_unref(struct dw_file *f);
/* Fills `units`; in a malformed file the list ends where parsing fails. */
int dw_file_scan_units(struct dw_file *f);

/* abbrev.c. The table at an offset, read up to the entry with a code, or (0) completely. The caller
 * gets a reference. */
int dw_abbrevs_get(const struct dw_unit *u, uint64_t offset, uint64_t code,
		   struct dw_abbrevs **ret_abbrevs);
struct dw_abbrevs *dw_abbrevs_unref(struct dw_abbrevs *a);
const struct dw_abbrev *dw_abbrevs_find(const struct dw_abbrevs *a, uint64_t code);

/* form.c */
/* Size of a form in units like u; -1: depends on the value, -2: unknown. */
int dw_form_bytes(uint16_t form, const struct dw_unit *u);
/* The cursor is bad afterwards if the value is invalid. */
void dw_form_skip(struct cursor *c, const struct dw_unit *u, uint16_t form);
void dw_form_read(struct cursor *c, const struct dw_unit *u, const struct dw_attr *attr,
		  struct dw_value *ret_value);
/* Valid until the next string of that section. NULL: none. */
const char *dw_value_string(const struct dw_unit *u, const struct dw_value *v);
bool dw_value_address(const struct dw_unit *u, const struct dw_value *v, uint64_t *ret_addr);
bool dw_value_number(const struct dw_value *v, uint64_t *ret_number);
/* The referenced entry: its file and offset in .debug_info. */
bool dw_value_reference(const struct dw_unit *u, const struct dw_value *v,
			struct dw_file **ret_file, uint64_t *ret_offset);
bool dw_address_at(const struct dw_unit *u, uint64_t index, uint64_t *ret_addr);

/* unit.c */
/* Reads the header at an offset and what `window` bytes contain of the unit, including its first
 * entry. */
int dw_unit_init(struct dw_unit *u, struct dw_file *f, uint64_t offset, uint64_t window);
void dw_unit_done(struct dw_unit *u);
/* From the header alone, to skip to the next unit. */
int dw_unit_peek(struct dw_file *f, uint64_t offset, uint64_t *ret_end, uint8_t *ret_type);
/* Finds the first entry's base values, to which other values are relative. */
void dw_unit_use_root(struct dw_unit *u);

/* unit_cache.c. The unit that contains an offset, read completely. -ENOENT. Unpinned units may be
 * dropped by the next call. */
int dw_unit_at(struct dw_file *f, uint64_t offset, struct dw_unit **ret_unit);
int dw_unit_number(struct dw_file *f, uint32_t number, struct dw_unit **ret_unit);
void dw_unit_grew(struct dw_unit *u, uint64_t bytes);
void dw_cache_drop_file(struct dw_file *f);

/* dwarf_ranges.c. Adds those that lie in code. */
int dw_ranges_add(struct dw_ranges *to, const struct dw_unit *u, const struct dw_value *low,
		  const struct dw_value *high, const struct dw_value *ranges);
void dw_ranges_done(struct dw_ranges *r);
bool dw_is_code(const struct dwarf *d, uint64_t addr);

/* index.c. -EAGAIN: a split file is requested; call it again then. */
int dw_index_build(struct dwarf *d);
/* Calls fn for units that may cover addr, until it returns something other than -ENOENT. */
int dw_index_each(struct dwarf *d, uint64_t addr,
		  int (*fn)(void *ctx, struct dwarf *d, uint32_t unit), void *ctx);

/* lines.c */
int dw_lines_new(const struct dw_unit *u, struct dw_lines **ret_lines);
struct dw_lines *dw_lines_free(struct dw_lines *l);
DEFINE_CLEANUP(struct dw_lines *, dw_lines_free)
uint64_t dw_lines_bytes(const struct dw_lines *l);
bool dw_lines_find(const struct dw_lines *l, uint64_t addr, uint32_t *ret_file, uint32_t *ret_line);
/* The path of a file in the table, as a string owned by the reader. NULL: none, or no room. */
int dw_lines_path(const struct dw_lines *l, const struct dw_unit *u, uint32_t file,
		  const char **ret_path);

/* scopes.c */
#define DW_NO_SCOPE UINT32_MAX

struct dw_scope {
	uint32_t die;    /* bytes from the start of the unit */
	uint32_t parent; /* the enclosing function */
	uint32_t call_file, call_line;
	uint16_t depth;
	bool is_inlined;
};

int dw_scopes_new(const struct dw_unit *u, struct dw_scopes **ret_scopes);
struct dw_scopes *dw_scopes_free(struct dw_scopes *s);
DEFINE_CLEANUP(struct dw_scopes *, dw_scopes_free)
uint64_t dw_scopes_bytes(const struct dw_scopes *s);
/* The innermost scope. DW_NO_SCOPE: none. */
uint32_t dw_scopes_find(const struct dw_scopes *s, uint64_t addr);
const struct dw_scope *dw_scopes_get(const struct dw_scopes *s, uint32_t scope);
/* Adds the ranges of all functions, for units without ranges of their own. */
int dw_scopes_ranges(const struct dw_scopes *s, struct dw_ranges *to);

/* places.c */
int dw_places_new(const struct dw_unit *u, struct dw_places **ret_places);
struct dw_places *dw_places_free(struct dw_places *p);
DEFINE_CLEANUP(struct dw_places *, dw_places_free)
uint64_t dw_places_bytes(const struct dw_places *p);
/* The namespace, type or function that encloses a function, type or namespace. False: none. */
bool dw_places_around(const struct dw_places *p, uint32_t die, uint32_t *ret_die);

/* enclosing.c. The scope of a function, as in struct dwarf_frame, for the entry that has its name;
 * NULL if it has none. The unit must stay pinned meanwhile. */
int dw_enclosing(struct dw_unit *u, uint32_t die, const char *name, const char **ret_scope,
		 uint32_t *ret_mangled_bytes);

/* name.c */
/* What one entry says about a name, and the entry to follow next. */
struct dw_step {
	uint16_t tag;
	struct dw_value linkage_name, name, decl_line, origin, specification;
};

int dw_step_read(const struct dw_unit *u, uint64_t die, struct dw_step *ret_step);
int dw_name_of(struct dw_unit *u, uint32_t die, struct dwarf_frame *to);
/* A string that lives as long as the reader. NULL: no room. */
int dw_keep_string(struct dwarf *d, const char *s, const char **ret_kept);

/* split.c. Releases .dwo files that no unit uses. */
void dw_dwos_drop(struct dwarf *d);
void dw_request_done(struct dwarf *d);
/* The split unit of a skeleton, in *ret_split; NULL: not a skeleton, or not available. -EAGAIN: its
 * file is requested. */
int dw_split_of(struct dw_unit *skeleton, struct dw_unit **ret_split);

#endif
