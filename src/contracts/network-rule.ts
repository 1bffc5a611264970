import { z } from 'zod'
import { capped } from './visible-text.ts'

/** Where a call goes that reads whatever address it is given. */
export interface OutsideAddress {
  readonly method: string
  readonly url: string
}

const name = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?'
const hostForm = new RegExp(
  `^(?:\\*|(?:\\*\\.)?(?:${name}\\.)+${name}|(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?::\\d{1,5})?)$`,
)

/** Two labels under which anybody may have a name. Not the whole list (publicsuffix.org): those that are met most. */
const sharedSuffixes: ReadonlySet<string> = new Set(
  (
    'co.uk org.uk ac.uk gov.uk me.uk ltd.uk plc.uk com.au net.au org.au edu.au gov.au co.nz org.nz ' +
    'co.jp ne.jp or.jp ac.jp go.jp co.kr or.kr com.br net.br org.br com.cn net.cn org.cn gov.cn com.tw ' +
    'com.hk com.sg com.my co.id co.th co.in net.in org.in com.tr com.mx com.ar com.co com.pe com.ve ' +
    'co.za org.za co.il org.il com.sa com.eg com.ng co.ke com.pk com.ph com.vn com.ua com.pl co.at or.at ' +
    'github.io gitlab.io pages.dev workers.dev r2.dev vercel.app netlify.app web.app firebaseapp.com ' +
    'herokuapp.com onrender.com fly.dev blogspot.com azurewebsites.net cloudfront.net amazonaws.com ' +
    'appspot.com run.app ngrok.io ngrok.app ngrok-free.app trycloudflare.com deno.dev repl.co surge.sh'
  ).split(' '),
)

/** Why a pattern with a star says more than whoever reads it believes; `undefined` if it does not. */
export function wildcardProblem(host: string): string | undefined {
  if (!host.startsWith('*.')) return undefined
  const under = host.slice(2).toLowerCase()
  return under.includes('.') && !sharedSuffixes.has(under)
    ? undefined
    : `is a star over names of everybody (${capped(under, 100)}): name the domain, such as *.example.com`
}

/** A host as an operator writes it. A port only of this machine: everywhere else it is 443. */
export const openHost = z
  .string()
  .max(253)
  .transform((text) => text.trim().toLowerCase())
  .superRefine((host, context) => {
    const message = hostForm.test(host)
      ? wildcardProblem(host)
      : 'must be a host without scheme, port and path: example.com, *.example.com, * for every public one, or localhost:3000 of this machine in development; one with other letters begins with xn--'
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })

export const openHosts = z.array(openHost).max(500)

/** What becomes of a call that goes to another host: somebody is asked, or it is denied. */
export const elsewhere = z.enum(['ask', 'deny'])

/**
 * Which hosts those tools may reach that read whatever address they are given: those of plugins that ship with the
 * deployment and were granted every host (`http`, `price-monitor`).
 */
export const networkRuleSchema = z.strictObject({
  hosts: openHosts.default([]),
  elsewhere: elsewhere.default('ask'),
})
export type NetworkRule = z.infer<typeof networkRuleSchema>

const ofThisMachine = /^(localhost|127\.0\.0\.1|\[::1\])(:|$)/

/**
 * Whether an address is open to them.
 *
 * @param own Hosts and ports at which a server in development itself answers; it may be read, and nothing else.
 */
export function isOpen(
  { method, url: text }: OutsideAddress,
  { hosts }: Pick<NetworkRule, 'hosts'>,
  own: readonly string[],
): boolean {
  const { host } = new URL(text)
  if (hosts.includes(host) || (method === 'GET' && own.includes(host))) return true
  if (ofThisMachine.test(host)) return false
  return hosts.some((one) => one === '*' || (one.startsWith('*.') && host.endsWith(one.slice(1))))
}

/** Why a request to another host is refused. Without its path: that of a redirect is a stranger's. */
export function closedText({ method, url: text }: OutsideAddress): string {
  const shown = capped(new URL(text).host, 253)
  return `${method} at ${shown}, a host that this deployment has not allowed (an operator allows it: isola http allow ${shown})`
}

/** What a person is shown of a call to another host, and a model reads that cannot ask anybody. */
export const closedAddressText = (to: OutsideAddress): string =>
  // As the parser writes it: letters, digits and percent signs, so nothing in it hides or moves.
  `${closedText(to)}. The whole address: ${capped(new URL(to.url).href, 1_000)}`
