/* Writes the files beside this one with the HDF4 library, and what it reads in them as text, in the form of ncdump.
 *   cc -I/usr/include/hdf make.c -o make -lmfhdf -ldf -ljpeg -lz -lsz -ltirpc -lm && ./make     ./make dump x.hdf: the text of one */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mfhdf.h"
#include "szlib.h"

static const int32 TYPES[] = {DFNT_CHAR8, DFNT_UCHAR8, DFNT_INT8, DFNT_UINT8, DFNT_INT16, DFNT_UINT16, DFNT_INT32, DFNT_UINT32, DFNT_FLOAT32, DFNT_FLOAT64};
static const char *NAMES[] = {"c8", "uc8", "i8", "u8", "i16", "u16", "i32", "u32", "f32", "f64"};
#define NTYPES 10

static void die(const char *what) { fprintf(stderr, "%s\n", what); HEprint(stderr, 0); exit(1); }

static void value(int32 nt, char *p, int i, int seed) {
    int k = i * 7 + seed;
    switch (nt & 0xfff) {
    case DFNT_CHAR8: *p = (char)('a' + k % 26); break;
    case DFNT_UCHAR8: case DFNT_UINT8: *(uint8 *)p = (uint8)(k * 5); break;
    case DFNT_INT8: *(int8 *)p = (int8)(k * 3 - 100); break;
    case DFNT_INT16: *(int16 *)p = (int16)(k * 37 - 3000); break;
    case DFNT_UINT16: *(uint16 *)p = (uint16)(k * 137 + 40000); break;
    case DFNT_INT32: *(int32 *)p = k * 70001 - 4000000; break;
    case DFNT_UINT32: *(uint32 *)p = 3000000000u + (uint32)k * 1001u; break;
    case DFNT_FLOAT32: *(float *)p = (float)k * 0.25f - 3.f; break;
    case DFNT_FLOAT64: *(double *)p = k * 0.125 - 70.; break;
    }
}

static void *values(int32 nt, int n, int seed) {
    int size = DFKNTsize((nt | DFNT_NATIVE) & ~DFNT_LITEND), i;
    char *all = calloc(n + 1, 8);
    for (i = 0; i < n; i++) value(nt, all + i * size, i, seed);
    return all;
}

/* One dataset. comp < 0: none; chunk NULL: one piece. rows < dims[0]: only so many are written; 0: nothing. */
static int32 put(int32 sd, const char *name, int32 nt, int rank, int32 *dims, int comp, int32 *chunk, int rows, const char **dimnames) {
    int32 start[4] = {0}, count[4], n = 1, i;
    int32 id = SDcreate(sd, name, nt, rank, dims);
    comp_info c; HDF_CHUNK_DEF def; memset(&c, 0, sizeof c); memset(&def, 0, sizeof def);
    if (id == FAIL) die(name);
    for (i = 0; i < rank; i++) if (dimnames && dimnames[i]) SDsetdimname(SDgetdimid(id, i), dimnames[i]);
    if (comp == COMP_CODE_SKPHUFF) c.skphuff.skp_size = DFKNTsize(nt & ~DFNT_LITEND);
    if (comp == COMP_CODE_DEFLATE) c.deflate.level = 6;
    if (comp == COMP_CODE_SZIP) { c.szip.options_mask = (nt == DFNT_FLOAT32 ? 4 : 32); c.szip.pixels_per_block = 4; }
    if (chunk) {
        for (i = 0; i < rank; i++) def.comp.chunk_lengths[i] = chunk[i];
        def.comp.comp_type = comp; def.comp.cinfo = c;
        if (SDsetchunk(id, def, comp >= 0 ? HDF_CHUNK | HDF_COMP : HDF_CHUNK) == FAIL) die(name);
    } else if (comp >= 0 && SDsetcompress(id, comp, &c) == FAIL) die(name);
    for (i = 0; i < rank; i++) { count[i] = i == 0 && (rows < dims[0] || dims[0] == 0) ? rows : dims[i]; n *= count[i]; }
    if (n > 0) { void *v = values(nt, n, (int)strlen(name)); if (SDwritedata(id, start, NULL, count, v) == FAIL) die(name); free(v); }
    return id;
}

static void types(void) {
    int32 sd = SDstart("types.hdf", DFACC_CREATE), t, dims[2] = {3, 4};
    const char *dn[] = {"row", "col"};
    char name[32];
    for (t = 0; t < NTYPES; t++) {
        int32 id = put(sd, NAMES[t], TYPES[t], 2, dims, -1, NULL, 3, dn);
        void *v = values(TYPES[t], 3, 5);
        SDsetattr(id, "att", TYPES[t], 3, v); free(v);
        SDendaccess(id);
        if (t > 0) { sprintf(name, "le_%s", NAMES[t]); SDendaccess(put(sd, name, TYPES[t] | DFNT_LITEND, 2, dims, -1, NULL, 3, dn)); }
    }
    SDsetattr(sd, "title", DFNT_CHAR8, 11, "nine types\n");
    SDend(sd);
}

static void codings(void) {
    static const int codes[] = {COMP_CODE_RLE, COMP_CODE_SKPHUFF, COMP_CODE_DEFLATE};
    const char *dn[] = {"y", "x"};
    static const char *names[] = {"rle", "skp", "gz"};
    int32 sd = SDstart("codings.hdf", DFACC_CREATE), t, c, dims[2] = {5, 7}, chunk[2] = {2, 3}, same[2] = {4, 6};
    char name[32];
    for (t = 3; t < NTYPES; t += 3) for (c = 0; c < 3; c++) {
        sprintf(name, "%s_%s", names[c], NAMES[t]);
        SDendaccess(put(sd, name, TYPES[t], 2, dims, codes[c], NULL, 5, dn));
        sprintf(name, "%s_ch_%s", names[c], NAMES[t]);
        SDendaccess(put(sd, name, TYPES[t], 2, dims, codes[c], chunk, 5, dn));
    }
    for (t = 3; t < NTYPES; t += 3) { sprintf(name, "ch_%s", NAMES[t]); SDendaccess(put(sd, name, TYPES[t], 2, same, -1, chunk, 4, NULL)); }
    { /* runs */
        int32 id, d[1] = {1000}, s[1] = {0}, i; int16 v[1000]; comp_info info; memset(&info, 0, sizeof info);
        for (i = 0; i < 1000; i++) v[i] = (int16)(i / 130 * 257 + (i % 97 == 0));
        for (c = 0; c < 3; c++) {
            sprintf(name, "runs_%s", names[c]); id = SDcreate(sd, name, DFNT_INT16, 1, d);
            info.deflate.level = 9; if (codes[c] == COMP_CODE_SKPHUFF) info.skphuff.skp_size = 2;
            SDsetcompress(id, codes[c], &info); SDwritedata(id, s, NULL, d, v); SDendaccess(id);
        }
    }
    SDend(sd);
}

/* The library of distributions has no szip: the stream is made by libsz here, and put into the file by hand, in the place of
 * data that lie in one piece. */
static void be(uint8 **p, uint32 v, int n) { int i; for (i = n - 1; i >= 0; i--) *(*p)++ = (uint8)(v >> 8 * i); }
static void szip_in(const char *path, int seed, int32 nt, int32 *dims, int mask, int plain) {
    int n = dims[0] * dims[1], size = DFKNTsize(nt), i, at = 4, dd = -1, null = -1, nd; size_t len = 0, coded; long end; uint16 ref = 0;
    uint8 *native = values(nt, n, seed), *data = malloc(n * size), *out = malloc(n * size * 2 + 1024), head[64], *p, *all; SZ_com_t par; FILE *f;
    DFKconvert(native, data, nt, n, DFACC_WRITE, 0, 0);
    par.options_mask = mask | 1 | 16 | 128; par.bits_per_pixel = 8 * size; par.pixels_per_block = 4; par.pixels_per_scanline = dims[1];
    coded = n * size * 2 + 1019;
    if (plain) memcpy(out + 5, data, coded = n * size); else if (SZ_BufftoBuffCompress(out + 5, &coded, data, n * size, &par) != SZ_OK) die("szip");
    p = out; be(&p, plain, 1); be(&p, (uint32)coded, 4);
    f = fopen(path, "r+b"); fseek(f, 0, SEEK_END); end = ftell(f); all = malloc(end); rewind(f); if (fread(all, 1, end, f) != (size_t)end) die("read");
    nd = all[4] << 8 | all[5];
    for (i = 0, at = 10; i < nd; i++, at += 12) {
        int tag = all[at] << 8 | all[at + 1];
        if (tag == 702 && dd < 0) { dd = at; ref = all[at + 2] << 8 | all[at + 3]; }
        if (tag == 1) null = at;
    }
    if (dd < 0 || null < 0) die("descriptors");
    fseek(f, end, SEEK_SET); fwrite(out, 1, coded + 5, f);
    p = head; be(&p, 3, 2); be(&p, 0, 2); be(&p, n * size, 4); be(&p, ref, 2); be(&p, 0, 2); be(&p, 5, 2);
    be(&p, n, 4); be(&p, dims[1], 4); be(&p, par.options_mask | 0x10000, 4); be(&p, 8 * size, 1); be(&p, 4, 1);
    len = p - head; fwrite(head, 1, len, f);
    p = all + dd; be(&p, 702 | 0x4000, 2); p += 2; be(&p, (uint32)(end + coded + 5), 4); be(&p, (uint32)len, 4);
    p = all + null; be(&p, 40, 2); be(&p, ref, 2); be(&p, (uint32)end, 4); be(&p, (uint32)(coded + 5), 4);
    rewind(f); fwrite(all, 1, end, f); fclose(f); free(all); free(out); free(data); free(native);
}
static void szip(void) {
    static const int32 nts[] = {DFNT_UINT8, DFNT_INT16, DFNT_INT32, DFNT_FLOAT32, DFNT_FLOAT64, DFNT_UINT16};
    int32 sd, t, dims[2] = {6, 20}, start[2] = {0, 0}; const char *dn[] = {"y", "x"}; char name[32];
    remove("szip.hdf"); { int32 f = Hopen("szip.hdf", DFACC_CREATE, 200); Hclose(f); }
    sd = SDstart("szip.hdf", DFACC_WRITE);
    for (t = 0; t < 6; t++) { int32 id; void *v = values(nts[t], 120, t); sprintf(name, "sz_%d", (int)nts[t]); id = put(sd, name, nts[t], 2, dims, -1, NULL, 0, dn);
        SDwritedata(id, start, NULL, dims, v); SDendaccess(id); free(v); }
    SDend(sd);
    /* those already done have another tag: the first that is left is meant */
    for (t = 0; t < 6; t++) szip_in("szip.hdf", t, nts[t], dims, t % 2 ? 32 : 4, t == 5);
}

static void odd(void) {
    int32 sd = SDstart("odd.hdf", DFACC_CREATE), id, dim, i, rec[2] = {SD_UNLIMITED, 3}, start[2] = {0}, count[2] = {1, 3};
    int32 one[1] = {4}, two[2] = {4, 3}, chunk[2] = {2, 2}, urec[2] = {SD_UNLIMITED, 4}, cc[2] = {2, 3}, other, zero[2] = {0, 0};
    int16 fill = -999; double lat[4] = {10, 20.5, 30, 40.25}; float range[2] = {100.f, -100.f}; int32 many[3] = {1, 2, 3};
    const char *ndn[] = {"n", NULL}; const char *latn[] = {"lat", "x"}; const char *recn[] = {"time", NULL};
    void *v;
    /* records that are written in turns lie in linked blocks */
    id = put(sd, "rec", DFNT_INT32, 2, rec, -1, NULL, 0, recn);
    other = put(sd, "between", DFNT_FLOAT64, 2, rec, -1, NULL, 0, recn);
    SDsetblocksize(id, 40); SDsetblocksize(other, 64);
    for (i = 0; i < 7; i++) {
        start[0] = i; v = values(DFNT_INT32, 3, i); SDwritedata(id, start, NULL, count, v); free(v);
        v = values(DFNT_FLOAT64, 3, i); SDwritedata(other, start, NULL, count, v); free(v);
    }
    SDendaccess(id); SDendaccess(other);
    id = put(sd, "few", DFNT_INT16, 2, urec, -1, NULL, 2, NULL); SDendaccess(id);
    /* nothing written, with and without a fill value of its own */
    for (i = 0; i < NTYPES; i++) { char name[32]; sprintf(name, "none_%s", NAMES[i]); SDendaccess(put(sd, name, TYPES[i], 1, one, -1, NULL, 0, ndn)); }
    id = put(sd, "filled", DFNT_INT16, 1, one, -1, NULL, 0, ndn); SDsetfillvalue(id, &fill); SDendaccess(id);
    id = put(sd, "none_gz", DFNT_INT16, 1, one, COMP_CODE_DEFLATE, NULL, 0, ndn); SDendaccess(id);
    /* half of the rows, half of the chunks */
    id = SDcreate(sd, "part", DFNT_INT16, 2, two); SDsetfillvalue(id, &fill); start[0] = 0; count[0] = 2; v = values(DFNT_INT16, 6, 1);
    SDwritedata(id, start, NULL, count, v); SDendaccess(id); free(v);
    { HDF_CHUNK_DEF def; memset(&def, 0, sizeof def); def.chunk_lengths[0] = chunk[0]; def.chunk_lengths[1] = chunk[1];
      for (i = 0; i < 2; i++) {
        id = SDcreate(sd, i ? "part_chunks_own" : "part_chunks", DFNT_INT16, 2, two); if (i) SDsetfillvalue(id, &fill); SDsetchunk(id, def, HDF_CHUNK);
        start[0] = 0; start[1] = 0; count[0] = 2; count[1] = 2; v = values(DFNT_INT16, 6, 1); SDwritedata(id, start, NULL, count, v); SDendaccess(id); free(v); } }
    /* scales, strings, a range, calibration */
    id = put(sd, "scaled", DFNT_FLOAT32, 2, two, -1, NULL, 4, latn);
    dim = SDgetdimid(id, 0); SDsetdimscale(dim, 4, DFNT_FLOAT64, lat); SDsetdimstrs(dim, "latitude", "degrees_north", "F7.2");
    dim = SDgetdimid(id, 1); SDsetattr(dim, "axis", DFNT_CHAR8, 1, "X");
    SDsetdatastrs(id, "a label", "K", "F9.3", "geo"); SDsetrange(id, &range[0], &range[1]); SDsetcal(id, 0.5, 0.01, 2., 0.1, DFNT_INT16);
    SDendaccess(id);
    /* the same name twice; names that netCDF would not make; several numbers in an attribute */
    SDendaccess(put(sd, "twin", DFNT_INT8, 1, one, -1, NULL, 4, ndn));
    SDendaccess(put(sd, "with blank:and/slash", DFNT_INT8, 1, one, -1, NULL, 4, ndn));
    SDsetattr(sd, "many", DFNT_INT32, 3, many);
    SDsetattr(sd, "le", DFNT_INT32 | DFNT_LITEND, 3, many);
    SDsetattr(sd, "text of several words", DFNT_CHAR8, 19, "line one\nline \"two\"");
    /* n-bit */
    id = SDcreate(sd, "nbit", DFNT_INT16, 1, one); SDsetnbitdataset(id, 9, 7, TRUE, FALSE); start[0] = 0; { int16 w[4] = {100, -40, 1016, -1024}; SDwritedata(id, zero, NULL, one, w); } SDendaccess(id);
    id = SDcreate(sd, "nbit_ones", DFNT_UINT32, 1, one); SDsetnbitdataset(id, 20, 13, FALSE, TRUE); { uint32 w[4] = {4096, 65536, 1u << 20, 8 << 8}; SDwritedata(id, zero, NULL, one, w); } SDendaccess(id);
    SDend(sd);
}

static void external(void) {
    int32 sd = SDstart("external.hdf", DFACC_CREATE), d[1] = {4}, s[1] = {0}, v[4] = {1, 2, 3, 4};
    int32 id = SDcreate(sd, "here", DFNT_INT32, 1, d); SDwritedata(id, s, NULL, d, v); SDendaccess(id);
    id = SDcreate(sd, "there", DFNT_INT32, 1, d); SDsetexternalfile(id, "external.dat", 0); SDwritedata(id, s, NULL, d, v); SDendaccess(id);
    SDend(sd); remove("external.dat");
}

/* HDF 3: groups of data only */
static void old(void) {
    int32 dims[2] = {3, 4}, i; float32 data[12], lat[3] = {1, 2, 3}, lon[4] = {10, 20, 30, 40}, most = 50.f, least = -5.f;
    for (i = 0; i < 12; i++) data[i] = i * 1.5f;
    remove("old.hdf");
    DFSDsetdims(2, dims); DFSDsetNT(DFNT_FLOAT32); DFSDsetdatastrs("pressure", "hPa", "F8.2", "geo");
    DFSDsetdimstrs(1, "lat", "degrees_north", "F5.1"); DFSDsetdimstrs(2, "lon", "degrees_east", "F5.1");
    DFSDsetdimscale(1, 3, lat); DFSDsetdimscale(2, 4, lon); DFSDsetrange(&most, &least); DFSDsetcal(0.5, 0.01, 2., 0.1, DFNT_INT16);
    if (DFSDadddata("old.hdf", 2, dims, data) == FAIL) die("old");
    DFSDclear(); { int32 d[1] = {5}; int16 v[5] = {1, -2, 3, -4, 5}; DFSDsetdims(1, d); DFSDsetNT(DFNT_INT16); if (DFSDadddata("old.hdf", 1, d, v) == FAIL) die("old2"); }
}

/* ---- the text ---- */
static const char *cdl(int32 nt) {
    switch (nt & 0xfff) { case DFNT_CHAR8: return "char"; case DFNT_INT8: return "byte"; case DFNT_UCHAR8: case DFNT_UINT8: return "ubyte"; case DFNT_INT16: return "short";
    case DFNT_UINT16: return "ushort"; case DFNT_INT32: return "int"; case DFNT_UINT32: return "uint"; case DFNT_FLOAT32: return "float"; default: return "double"; }
}
static void real(double x, int digits, const char *suffix, int att) { char b[64]; sprintf(b, "%.*g", digits, x); if (att && !strpbrk(b, ".en")) strcat(b, "."); printf("%s%s", b, suffix); }
static void number(int32 nt, char *p, int att) {
    switch (nt & 0xfff) {
    case DFNT_INT8: printf("%d%s", *(int8 *)p, att ? "b" : ""); break; case DFNT_UCHAR8: case DFNT_UINT8: printf("%u%s", *(uint8 *)p, att ? "UB" : ""); break;
    case DFNT_INT16: printf("%d%s", *(int16 *)p, att ? "s" : ""); break; case DFNT_UINT16: printf("%u%s", *(uint16 *)p, att ? "US" : ""); break;
    case DFNT_INT32: printf("%d", *(int32 *)p); break; case DFNT_UINT32: printf("%u%s", *(uint32 *)p, att ? "U" : ""); break;
    case DFNT_FLOAT32: real(*(float *)p, 9, att ? "f" : "", att); break; case DFNT_FLOAT64: real(*(double *)p, 17, "", att); break;
    }
}
static void quoted(const char *p, int n) {
    int i; putchar('"'); while (n > 0 && p[n - 1] == 0) n--;
    for (i = 0; i < n; i++) { if (p[i] == '"' || p[i] == '\\') printf("\\%c", p[i]); else if (p[i] == '\n') printf("\\n"); else putchar(p[i]); }
    putchar('"');
}
static void name_of(const char *n) { for (; *n; n++) { if (strchr(" !\"#$%&'()*,:;<=>?[]\\^`{|}~", *n)) putchar('\\'); putchar(*n); } }
static void atts(int32 id, int32 n, const char *of) {
    int32 a, nt, count, i; char name[300];
    for (a = 0; a < n; a++) {
        char *buf; SDattrinfo(id, a, name, &nt, &count); buf = calloc(count + 1, 8); SDreadattr(id, a, buf);
        printf("\t\t"); name_of(of); printf(":"); name_of(name); printf(" = ");
        if ((nt & 0xfff) == DFNT_CHAR8) quoted(buf, count); else for (i = 0; i < count; i++) { if (i) printf(", "); number(nt, buf + i * DFKNTsize((nt | DFNT_NATIVE) & ~DFNT_LITEND), 1); }
        printf(" ;\n"); free(buf);
    }
}
static void dump(const char *path) {
    int32 sd = SDstart(path, DFACC_READ), n, g, v, d, i; static char seen[400][256], name[300], base[100]; int ns = 0; int32 lens[400];
    if (sd == FAIL) die(path);
    SDfileinfo(sd, &n, &g); strcpy(base, path); *strrchr(base, '.') = 0; printf("netcdf %s {\n", base);
    for (i = 0; i < 2; i++) {
        if (i) printf("variables:\n");
        for (v = 0; v < n; v++) {
            int32 id = SDselect(sd, v), rank, dims[32], nt, na, len, dt, dn; char dim[300];
            SDgetinfo(id, name, &rank, dims, &nt, &na);
            if (i) { printf("\t%s ", cdl(nt)); name_of(name); }
            for (d = 0; d < rank; d++) {
                int k; SDdiminfo(SDgetdimid(id, d), dim, &len, &dt, &dn);
                for (k = 0; k < ns && strcmp(seen[k], dim); k++) {}
                if (k == ns) { strcpy(seen[ns], dim); lens[ns++] = len ? len : dims[0]; if (ns == 1) printf("dimensions:\n"); printf("\t%s = %d ;\n", dim, len ? len : dims[0]); }
                if (i) printf("%s%s", d ? ", " : "(", dim);
            }
            if (i) { printf(rank ? ") ;\n" : " ;\n"); atts(id, na, name); }
            SDendaccess(id);
        }
    }
    if (g) { printf("\n// global attributes:\n"); atts(sd, g, ""); }
    printf("data:\n");
    for (v = 0; v < n; v++) {
        int32 id = SDselect(sd, v), rank, dims[32], nt, na, start[32] = {0}, total = 1, size; char *buf;
        SDgetinfo(id, name, &rank, dims, &nt, &na); for (d = 0; d < rank; d++) total *= dims[d];
        size = DFKNTsize((nt | DFNT_NATIVE) & ~DFNT_LITEND); buf = calloc(total + 1, 8);
        if (SDreaddata(id, start, NULL, dims, buf) == FAIL) { printf("// %s: not read\n", name); HEclear(); continue; }
        printf("\n "); name_of(name); printf(" = ");
        for (i = 0; i < total; i++) { if (i) printf(", "); if ((nt & 0xfff) == DFNT_CHAR8) printf("%d", buf[i]); else number(nt, buf + i * size, 0); }
        printf(" ;\n"); free(buf); SDendaccess(id);
    }
    printf("}\n"); SDend(sd);
}
int main(int argc, char **argv) {
    if (argc == 3) { dump(argv[2]); return 0; }
    types(); codings(); odd(); external(); old(); szip();
    return 0;
}
