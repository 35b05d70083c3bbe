/* A filter plugin with the HDF5 id 40000 and the codec "xor". Its parameter is a key for each byte. Some keys fail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int version, id;
    unsigned encoder_present, decoder_present;
    const char *name;
    void *can_apply, *set_local;
    size_t (*filter)(unsigned, size_t, const unsigned *, size_t, size_t *, void **);
} filter_class;

typedef struct {
    int version, sort;
    const char *codecid;
    unsigned hdf5id;
    void (*initialize)(void), (*finalize)(void);
    int (*to_hdf5)(const char *, size_t *, unsigned **);
    int (*to_codec)(size_t, const unsigned *, char **);
    void *modify_parameters;
} codec_class;

enum { CRASH = 1001, HANG = 1002, REFUSE = 1003, LIE = 1004, DOUBLE = 1005, SHORT = 1006, EXIT = 1007 };

static size_t filter(unsigned flags, size_t count, const unsigned *params, size_t len, size_t *size, void **data) {
    unsigned key = count ? params[0] : 0;
    unsigned char *bytes = *data;
    (void)flags;
    if (key == 1) {
        printf("a plugin may print\n");
        fflush(stdout);
    }
    switch (key) {
    case CRASH: abort();
    case HANG: for (;;) getchar();
    case REFUSE: return 0;
    case LIE: return *size + 1;
    case EXIT: exit(0);
    case SHORT: return len / 2;
    case DOUBLE:
        bytes = realloc(bytes, 2 * len);
        memcpy(bytes + len, bytes, len);
        *data = bytes;
        *size = 2 * len;
        return 2 * len;
    }
    for (size_t i = 0; i < len; i++) bytes[i] ^= (unsigned char)key;
    return len;
}

static int to_hdf5(const char *text, size_t *count, unsigned **params) {
    const char *key = strstr(text, "\"key\":");
    if (!key) return -137;
    *params = malloc(sizeof(unsigned));
    **params = (unsigned)atoi(key + 6);
    *count = 1;
    return 0;
}

static int to_codec(size_t count, const unsigned *params, char **text) {
    if (count != 1) return -137;
    *text = malloc(64);
    snprintf(*text, 64, "{\"id\": \"xor\", \"key\": %u}", params[0]);
    return 0;
}

static const filter_class class = {1, 40000, 1, 1, "xor with a key", NULL, NULL, filter};
static const codec_class codec = {1, 1, "xor", 40000, NULL, NULL, to_hdf5, to_codec, NULL};

int H5PLget_plugin_type(void) { return 0; }
const void *H5PLget_plugin_info(void) { return &class; }
const void *NCZ_get_codec_info(void) { return &codec; }
