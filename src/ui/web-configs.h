/*
 * web-configs.h - configurations with a name: the menu, and what its forms do
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_WEB_CONFIGS_H
#define UI_WEB_CONFIGS_H

struct page;
struct visit;

/* Puts "Default" and those of the file on the page. */
void web_configs_offer(struct visit *v, struct page *pg);

/*
 * Save the configuration of the request as "config", or delete the one of that name.  The page
 * whose form asks for it ("view") is shown again.
 */
void web_configs_save(struct visit *v);
void web_configs_delete(struct visit *v);

#endif /* UI_WEB_CONFIGS_H */
