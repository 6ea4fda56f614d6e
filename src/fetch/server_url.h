/* SPDX-License-Identifier: Apache-2.0 */
/* What the URL of a debuginfod server may look like: the one rule, for the library and its callers. */
#ifndef FETCH_SERVER_URL_H
#define FETCH_SERVER_URL_H

/* What is wrong with it, in a few words; NULL: nothing. Nobody is asked whether it exists. */
const char *server_url_mistake(const char *url);

#endif
