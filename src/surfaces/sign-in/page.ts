import { headOf } from '#contracts/cut.ts'
import type { Consent } from '#features/access/types/oauth.ts'
import type { Scope } from '#contracts/scopes.ts'
import { escape, htmlResponse, toHtml } from '#platform/routes/html.ts'

const meanings: Readonly<Record<Scope, string>> = {
  agents: 'Talk to agents in your name: their answers, their tools, and what they cost.',
  approve:
    'Say yes in your name to calls that wait for you, also to those that it asked for itself.',
  'audit:read': 'Read every session, the record, health and spending of this deployment.',
  'plugins:install': 'Add plugins to this deployment. It enables none of them.',
  operator: 'Do everything an operator does: keys, secrets, plugins, policy.',
}

/** A page of the sign-in as it goes out. */
export const pageResponse = (
  html: string,
  options: {
    readonly status: number
    readonly headers?: Readonly<Record<string, string>>
    readonly cookies?: readonly string[]
    /** Where the form's answer may lead besides to https. */
    readonly formTargets?: readonly string[]
  },
): Promise<Response> => {
  const { formTargets = [], ...rest } = options
  // A browser asks this of each redirect after the form as well, and those are the client's.
  const policy = [`form-action ${["'self'", 'https:', ...formTargets].join(' ')}`]
  return htmlResponse(html, { ...rest, policy })
}

/** Names the client, the destination of the answer, and the permissions; a person signs in and decides. */
export function consentPage(consent: Consent): string {
  const { clientName, clientHost, redirectHost, isLoopback, problem, upstreamHost } = consent
  const name = quotable(clientName)
  const origin =
    clientHost === undefined
      ? 'It registered itself: nobody vouches for this name.'
      : `It is described by <span class="host">${escape(clientHost)}</span>.`
  return toHtml(
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

/** The page of a sign-in that cannot go on; the message is escaped. */
export function refusalPage(message: string): string {
  return toHtml(
    'Sign-in refused',
    `<h1>This sign-in cannot go on</h1><p class="name">${escape(message)}</p>`,
  )
}

function scopeRow(scope: Scope, { ticked }: Consent): string {
  const checked = ticked.includes(scope) ? ' checked' : ''
  return `<label><input type="checkbox" name="scope" value="${scope}"${checked}> ${scope}<small>${meanings[scope]}</small></label>`
}

const maxNameChars = 100

/** A name inside quotes, which cannot close them: the text after it would read as ours. */
function quotable(name: string): string {
  const short = name.length > maxNameChars ? `${headOf(name, maxNameChars)}…` : name
  return escape(short.replace(/["“”„‟«»＂]/g, "'"))
}
