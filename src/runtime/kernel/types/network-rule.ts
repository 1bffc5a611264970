import * as z from 'zod'
import { headOf } from '#contracts/cut.ts'

/** At most so many characters: the start of a longer text, and how long the text is. */
export const capped = (text: string, maxChars: number): string =>
  text.length <= maxChars ? text : `${headOf(text, maxChars)}… (${text.length} characters in all)`

const label = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?'

// A last label that begins with a digit is (part of) an address, of which there are no names below.
const name = `(?:${label}\\.)+[a-z](?:[a-z0-9-]*[a-z0-9])?`

const hostForm = new RegExp(
  `^(?:\\*|(?:\\*\\.)?${name}|(?:\\d{1,3}\\.){3}\\d{1,3}|(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?::\\d{1,5})?)$`,
)

const isHost = (host: string): boolean =>
  hostForm.test(host) && (host.startsWith('*') || URL.canParse(`https://${host}`))

/** Two labels under which any person can register a name in a country: co.uk, com.au, gouv.fr. */
const registrySuffix =
  /^(ac|asso|co|com|edu|go|gob|gouv|gov|gv|ltd|me|mil|ne|net|nhs|nom|or|org|plc|sch)\.[a-z]{2}$/

/**
 * Domains under which any person can register a name; each such name has an owner of its own. The most common ones
 * only, not the whole list (publicsuffix.org).
 */
const sharedSuffixes = (
  'github.io gitlab.io pages.dev workers.dev r2.dev vercel.app netlify.app web.app firebaseapp.com ' +
  'herokuapp.com onrender.com fly.dev blogspot.com azurewebsites.net cloudfront.net appspot.com run.app ' +
  'ngrok.io ngrok.app ngrok-free.app trycloudflare.com deno.dev repl.co surge.sh ' +
  'ddns.net duckdns.org dyndns.org dynu.net hopto.org no-ip.org sytes.net zapto.org'
).split(' ')

/** Clouds: a name below these, at any depth, may belong to any customer. */
const sharedClouds = (
  'amazonaws.com amazonaws.com.cn on.aws windows.net storage.googleapis.com googleusercontent.com ' +
  'digitaloceanspaces.com backblazeb2.com r2.cloudflarestorage.com myqcloud.com aliyuncs.com'
).split(' ')

const isBelow = (host: string, suffix: string): boolean => host.endsWith(`.${suffix}`)

/** Whether any person can register names below this one, directly or further down. */
function isShared(under: string): boolean {
  if (!under.includes('.') || registrySuffix.test(under)) return true
  const isOver = (suffix: string) => under === suffix || isBelow(suffix, under)
  return (
    sharedSuffixes.some(isOver) ||
    sharedClouds.some((suffix) => isOver(suffix) || isBelow(under, suffix))
  )
}

/** Why a pattern with a star covers more hosts than its reader expects; `undefined` if it does not. */
function wildcardProblem(host: string): string | undefined {
  if (!host.startsWith('*.')) return undefined
  const under = host.slice(2).toLowerCase()
  return isShared(under)
    ? `is a star over names of everybody (${capped(under, 100)}): name the domain, such as *.example.com`
    : undefined
}

/** A host as an operator writes it. A port only of this machine: everywhere else it is 443. */
export const openHost = z
  .string()
  .max(253)
  .transform((text) => text.trim().toLowerCase())
  .superRefine((host, context) => {
    const message = isHost(host)
      ? wildcardProblem(host)
      : 'must be a host without scheme, port and path: example.com, *.example.com, * for ' +
        'every public one, or localhost:3000 of this machine in development; one with other ' +
        'letters begins with xn--'
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })

/** The most hosts that an operator may open. */
export const maxOpenHosts = 500

/** Hosts that are open; `*` is every public one. */
export const openHosts = z.array(openHost).max(maxOpenHosts)

/** The verdict on a call to another host: it waits for approval, or is denied. */
export const elsewhere = z.enum(['ask', 'deny'])

/** The hosts that tools of bundled plugins with a grant for every host may reach (`http`, `price-monitor`). */
export const networkRuleSchema = z.strictObject({
  hosts: openHosts.default([]),
  elsewhere: elsewhere.default('ask'),
})
