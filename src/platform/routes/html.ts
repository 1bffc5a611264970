const style = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0;padding:6vh 1rem;background:Canvas;color:CanvasText}
main{max-width:27rem;margin:auto;padding:1.5rem 1.75rem;border:1px solid GrayText;border-radius:12px}main.wide{max-width:40rem}
h1{font-size:1.25rem;line-height:1.3;margin:0 0 .75rem}h2{font-size:1rem;margin:1.25rem 0 .4rem}p,ul{margin:.6rem 0}ul{padding-left:1.25rem}
.name,.host,code{overflow-wrap:anywhere}.host{font-weight:600}code{font:.875em/1.5 ui-monospace,monospace}
pre{margin:.4rem 0;padding:.75rem;white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid GrayText;border-radius:8px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem;margin:.75rem 0}dt{opacity:.8}dd{margin:0}
@media(max-width:30rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}}
.note{font-size:.9rem;padding:.5rem .75rem;border-left:3px solid GrayText}.bad{border-color:#c62828}.well{border-color:#2e7d32}
fieldset{border:0;padding:0;margin:.75rem 0}legend{padding:0;font-weight:600}label{display:block;margin:.35rem 0}
small{display:block;margin-left:1.6rem;opacity:.8}input[type=password]{box-sizing:border-box;width:100%;padding:.5rem;font:inherit}
button{font:inherit;padding:.5rem 1rem;margin:.75rem .5rem 0 0;border-radius:8px;border:1px solid GrayText;cursor:pointer}
.go{font-weight:600}`

/** A page as it goes out: no script, nothing from elsewhere, in no frame, kept nowhere. */
export async function htmlResponse(
  html: string,
  options: {
    readonly status: number
    readonly headers?: Readonly<Record<string, string>>
    readonly cookies?: readonly string[]
    /** Besides what is true of every page: where its form may lead, for one. */
    readonly policy?: readonly string[]
  },
): Promise<Response> {
  const { status, cookies = [], policy = [`form-action 'none'`] } = options
  const directives = [
    `default-src 'none'`,
    `style-src 'sha256-${await styleHash()}'`,
    ...policy,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ]
  const headers = new Headers({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': directives.join('; '),
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
    // With `no-referrer` a browser would send `Origin: null` with a form, which is refused.
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    ...options.headers,
  })
  for (const cookie of cookies) headers.append('set-cookie', cookie)
  return new Response(html, { status, headers })
}

/** @param body HTML of the page's own; whatever comes from elsewhere went through `escape`. */
export function toHtml(title: string, body: string, width: '' | 'wide' = ''): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>${title}</title><link rel="icon" href="/favicon.svg" type="image/svg+xml"><style>${style}</style></head>
<body><main${width && ` class="${width}"`}>${body}</main></body></html>`
}

/** A stranger's text must stay text wherever it stands. Controls and direction marks would forge the text around it. */
export function escape(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .replace(/[&<>"'`]/g, (one) => `&#${one.charCodeAt(0)};`)
}

async function styleHash(): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(style))
  return btoa(String.fromCharCode(...new Uint8Array(digest)))
}
