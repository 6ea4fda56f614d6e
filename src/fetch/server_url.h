/* SPDX-License-Identifier: Apache-2.0 */
/* Validates the URL of a debuginfod server, for the library and its callers. */
#ifndef FETCH_SERVER_URL_H
#define FETCH_SERVER_URL_H

/* Text about what is wrong with the URL; NULL if nothing is. Does not check whether the server
 * exists. */
const char *server_url_mistake(const char *url);

#endif
