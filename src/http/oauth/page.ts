import type { Consent } from '#contracts/oauth.ts'
import type { Scope } from '#contracts/scopes.ts'

const style = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0;padding:6vh 1rem;background:Canvas;color:CanvasText}
main{max-width:27rem;margin:auto;padding:1.5rem 1.75rem;border:1px solid GrayText;border-radius:12px}
h1{font-size:1.25rem;line-height:1.3;margin:0 0 .75rem}p,ul{margin:.6rem 0}.name,.host{overflow-wrap:anywhere}.host{font-weight:600}
.note{font-size:.9rem;padding:.5rem .75rem;border-left:3px solid GrayText}.bad{border-color:#c62828}
fieldset{border:0;padding:0;margin:.75rem 0}legend{padding:0;font-weight:600}label{display:block;margin:.35rem 0}
small{display:block;margin-left:1.6rem;opacity:.8}input[type=password]{box-sizing:border-box;width:100%;padding:.5rem;font:inherit}
button{font:inherit;padding:.5rem 1rem;margin:.75rem .5rem 0 0;border-radius:8px;border:1px solid GrayText;cursor:pointer}
.go{font-weight:600}`

const meanings: Readonly<Record<Scope, string>> = {
  agents: 'Talk to agents in your name: their answers, their tools, and what they cost.',
  'audit:read': 'Read every session, the record, health and spending of this deployment.',
  'plugins:install': 'Add plugins to this deployment. It enables none of them.',
  operator: 'Do everything an operator does: keys, secrets, plugins, policy.',
}

/** A page as it goes out: no script, nothing from elsewhere, in no frame, kept nowhere. */
export async function pageResponse(
  html: string,
  options: {
    readonly status: number
    readonly headers?: Readonly<Record<string, string>>
    readonly cookies?: readonly string[]
    /** Where the form's answer may lead besides to https. */
    readonly formTargets?: readonly string[]
  },
): Promise<Response> {
  const { status, cookies = [], formTargets = [] } = options
  const policy = [
    `default-src 'none'`,
    `style-src 'sha256-${await styleHash()}'`,
    // A browser asks this of each redirect after the form as well, and those are the client's.
    `form-action ${["'self'", 'https:', ...formTargets].join(' ')}`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ]
  const headers = new Headers({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
    // With `no-referrer` a browser would send `Origin: null` with the form, which is refused.
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    ...options.headers,
  })
  for (const cookie of cookies) headers.append('set-cookie', cookie)
  return new Response(html, { status, headers })
}

/** Names the client, where the answer goes, and what is allowed; somebody signs in and decides. */
export function consentPage(consent: Consent): string {
  const { clientName, clientHost, redirectHost, isLoopback, problem, upstreamHost } = consent
  const name = quotable(clientName)
  const origin =
    clientHost === undefined
      ? 'It registered itself: nobody vouches for this name.'
      : `It is described by <span class="host">${escape(clientHost)}</span>.`
  return page(
    `Allow “${name}”?`,
    `<h1>Allow “<span class="name">${name}</span>” to use this Isola deployment?</h1>
${problem ? `<p class="note bad" role="alert">${escape(problem.message)}</p>` : ''}
<p>${origin} Access goes to <span class="host">${escape(redirectHost)}</span>, for <span class="name">${escape(consent.resource)}</span>.</p>
${isLoopback ? '<p class="note">That is a program on your own computer. Go on only if you just started to sign in from it.</p>' : ''}
<form method="post" autocomplete="off">
<input type="hidden" name="handle" value="${escape(consent.handle)}">
<fieldset><legend>It will be able to do what you tick</legend>${consent.scopes.map((scope) => scopeRow(scope, consent)).join('')}</fieldset>
<label for="key">Your Isola key</label>
<input type="password" id="key" name="key" maxlength="500" autocomplete="off" spellcheck="false">
<button class="go" name="decision" value="key">Allow</button>
${upstreamHost === undefined ? '' : `<button name="decision" value="upstream">Allow and sign in with ${escape(upstreamHost)}</button>`}
<button name="decision" value="deny">Deny</button>
</form>`,
  )
}

export function refusalPage(message: string): string {
  return page(
    'Sign-in refused',
    `<h1>This sign-in cannot go on</h1><p class="name">${escape(message)}</p>`,
  )
}

function scopeRow(scope: Scope, { ticked }: Consent): string {
  const checked = ticked.includes(scope) ? ' checked' : ''
  return `<label><input type="checkbox" name="scope" value="${scope}"${checked}> ${scope}<small>${meanings[scope]}</small></label>`
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>${title}</title><style>${style}</style></head>
<body><main>${body}</main></body></html>`
}

const maxNameChars = 100

/** A name that stands between quotes, and cannot end them: what follows would read as ours. */
function quotable(name: string): string {
  const short = name.length > maxNameChars ? `${name.slice(0, maxNameChars)}…` : name
  return escape(short.replace(/["“”„‟«»＂]/g, "'"))
}

/** What a client says of itself must be text wherever it stands. Controls and direction marks would forge what is around it. */
function escape(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .replace(/[&<>"'`]/g, (one) => `&#${one.charCodeAt(0)};`)
}

async function styleHash(): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(style))
  return btoa(String.fromCharCode(...new Uint8Array(digest)))
}
