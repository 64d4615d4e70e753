/*
 * flame-assets.h - flame.js and flame.css, as the build put them into the program
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RENDER_FLAME_ASSETS_H
#define RENDER_FLAME_ASSETS_H

extern const char flame_script[];
extern const char flame_style[];

#endif /* RENDER_FLAME_ASSETS_H */
