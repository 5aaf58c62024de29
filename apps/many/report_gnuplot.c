/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_gnuplot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Characters that mean something to gnuplot or to SVG never reach gnuplot, whose quoting has holes: places of Unicode's
 * private use area, beginning at U+E000, stand for them, and the SVG gets the characters in the end. */
static const struct {
	char c;
	const char *in_svg;
} stand_ins[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'\'', "'"}, {'"', "\""}, {'`', "`"}, {'\\', "\\"}};
#define STAND_INS    (sizeof stand_ins / sizeof *stand_ins)
#define STAND_IN     "\xee\x80" /* and 0x80 + index */
#define STAND_IN_LEN 3

#define TIC_CHARACTERS 44

#define EXIT_NO_GNUPLOT 127

static void put_quoted(FILE *f, char c)
{
	for (unsigned i = 0; i < STAND_INS; i++) {
		if (c == stand_ins[i].c) {
			fprintf(f, STAND_IN "%c", (char)(0x80 + i));
			return;
		}
	}
	fputc((unsigned char)c < 0x20 || c == 0x7f ? ' ' : c, f);
}

/* What the stand-in here stands for; NULL when there is none here. */
static const char *stood_for(const char *svg)
{
	unsigned i =
		strncmp(svg, STAND_IN, STAND_IN_LEN - 1) ? STAND_INS : (unsigned char)svg[STAND_IN_LEN - 1] - 0x80u;
	return i < STAND_INS ? stand_ins[i].in_svg : NULL;
}

void gnuplot_string(FILE *script, const char *text)
{
	fputc('\'', script);
	for (; *text; text++)
		put_quoted(script, *text);
	fputc('\'', script);
}

void gnuplot_tic(FILE *script, const char *text)
{
	unsigned characters = 0;
	fputc('\'', script);
	for (; *text; text++) {
		characters += ((unsigned char)*text & 0xc0) != 0x80; /* not inside a UTF-8 sequence */
		if (characters > TIC_CHARACTERS) {
			fputs("…", script);
			break;
		}
		if (*text == '%')
			fputc('%', script);
		put_quoted(script, *text);
	}
	fputc('\'', script);
}

/* In the child; only calls that are safe after fork. `-d`: no user's settings. */
static void become_gnuplot(int in, int out, int errors)
{
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0)
		execlp("gnuplot", "gnuplot", "-d", "-", (char *)NULL);
	_exit(EXIT_NO_GNUPLOT);
}

/* What a temporary file holds. NULL: no memory, or it cannot be read. */
static char *text_of(FILE *f)
{
	long bytes = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
	char *text = bytes < 0 ? NULL : malloc((size_t)bytes + 1);
	if (!text)
		return NULL;
	rewind(f);
	text[fread(text, 1, (size_t)bytes, f)] = '\0';
	return text;
}

/* gnuplot repeats the line of the script, marks the place and says what is wrong, in lines of their own: the last is
 * wanted. */
static void complain(FILE *errors, int status, struct weft_err *err)
{
	char *text = text_of(errors), *at = text ? text : "", *next;
	for (size_t len = strlen(at); len && strchr(" \t\n", at[len - 1]); len--)
		at[len - 1] = '\0';
	while ((next = strchr(at, '\n')))
		at = next + 1;
	at += strspn(at, " \t");
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_GNUPLOT)
		weft_err_set(err, -ENOENT, "gnuplot is not there: install the Debian package gnuplot-nox");
	else if (WIFSIGNALED(status))
		weft_err_set(err, -EIO, "gnuplot died of signal %d %s", WTERMSIG(status), at);
	else
		weft_err_set(err, -EIO, "gnuplot: %s", *at ? at : "failed without a message");
	free(text);
}

/* Length of a title element here, which a browser would show as if it said something; 0: none. */
static size_t title_length(const char *svg)
{
	static const char end[] = "</title>";
	const char *found = strncmp(svg, "<title>", 7) ? NULL : strstr(svg, end);
	return found ? (size_t)(found - svg) + strlen(end) : 0;
}

/* Copies SVG without titles, giving names and references to them a prefix and turning stand-ins into what they stand
 * for. */
static void copy_svg(FILE *out, const char *svg, unsigned id)
{
	static const char *const names[] = {" id='", " id=\"", "href='#", "url(#"};
	while (*svg) {
		size_t known = 0;
		svg += title_length(svg);
		for (size_t i = 0; i < sizeof names / sizeof *names && !known; i++)
			known = strncmp(svg, names[i], strlen(names[i])) ? 0 : strlen(names[i]);
		if (known) {
			fprintf(out, "%.*sp%u-", (int)known, svg, id);
			svg += known;
		} else if (stood_for(svg)) {
			fputs(stood_for(svg), out);
			svg += STAND_IN_LEN;
		} else {
			fputc(*svg++, out);
		}
	}
}

static char *inline_svg(FILE *drawn, unsigned id, struct weft_err *err)
{
	char *whole = text_of(drawn), *start = whole ? strstr(whole, "<svg") : NULL, *copy = NULL;
	size_t len;
	FILE *out = start ? open_memstream(&copy, &len) : NULL;
	if (!start)
		weft_err_set(err, -EIO, "gnuplot drew nothing");
	else if (!out)
		weft_err_set(err, -ENOMEM, "no memory for a plot");
	if (out) {
		copy_svg(out, start, id);
		fclose(out);
	}
	free(whole);
	return copy;
}

static int run_child(FILE *script, FILE *drawn, FILE *errors, struct weft_err *err)
{
	int status = 0;
	if (fflush(script) || ferror(script))
		return weft_err_set(err, -EIO, "the script for gnuplot cannot be written: %s", strerror(errno));
	rewind(script);
	pid_t child = fork();
	if (child < 0)
		return weft_err_set(err, -errno, "gnuplot cannot be started: %s", strerror(errno));
	if (!child)
		become_gnuplot(fileno(script), fileno(drawn), fileno(errors));
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return weft_err_set(err, -errno, "gnuplot is lost: %s", strerror(errno));
	}
	if (status)
		complain(errors, status, err);
	return status ? -EIO : 0;
}

char *gnuplot_run(FILE *script, unsigned id, struct weft_err *err)
{
	FILE *drawn = tmpfile(), *errors = tmpfile();
	char *svg = NULL;
	if (!drawn || !errors)
		weft_err_set(err, -errno, "no temporary file for gnuplot: %s", strerror(errno));
	else if (!run_child(script, drawn, errors, err))
		svg = inline_svg(drawn, id, err);
	if (drawn)
		fclose(drawn);
	if (errors)
		fclose(errors);
	return svg;
}
