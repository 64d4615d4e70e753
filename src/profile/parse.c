/*
 * parse.c - from bytes in any format we read to a struct profile
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "profile/decode.h"
#include "profile/legacy.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdio.h>

/*
 * Bytes that start as a Profile message does (a first sample type) were meant to be one, and the
 * place where they stop being one helps more than "unrecognized".
 */
static bool looks_like_message(struct str b)
{
	return b.n > 2 && b.p[0] == 0x0a && (unsigned char)b.p[1] <= 20;
}

static int unrecognized(struct str b, const struct err *place, struct err *err)
{
	if (looks_like_message(b))
		return err_set(err, -EBADMSG,
			       "parsing profile: unrecognized profile format (%.200s)", place->msg);
	return err_set(err, -EBADMSG, "parsing profile: unrecognized profile format");
}

int profile_parse(struct str bytes, struct strings *strings, struct head_start *ahead,
		  struct profile **out, struct err *err)
{
	struct err place;
	int rc = profile_decode(bytes, strings, ahead, out, &place);

	if (rc == 0)
		return 0;
	if (rc == -EILSEQ)
		return err_set(err, rc, "malformed profile: %s", place.msg);
	if (rc != -EBADMSG)
		return err_set(err, rc, "parsing profile: %s", place.msg);

	rc = legacy_parse(bytes, out, err);
	if (rc == -ENOTSUP)
		rc = unrecognized(bytes, &place, err);
	else if (rc)
		err_wrap(err, rc, "parsing profile");
	return rc;
}
