import type { Destination, OutsideAddress } from '#contracts/destination.ts'
import type { NetworkRule } from '#runtime/catalog/types/plugin-catalog.ts'
import { capped, openHost } from '#runtime/kernel/types/network-rule.ts'
import type { Label } from '#contracts/label.ts'
import type { Message } from '#contracts/message.ts'
import type { Approver } from '#contracts/approval.ts'

/** The reason and rule of a decision, for the record. */
export interface Why {
  readonly reason: string
  readonly rule: string
}

/** The approver a call needs, and what the approver must see first. */
export interface AskedWhy {
  readonly approver: Approver
  readonly about: string | undefined
  /** The call's destination: the origin if its host is closed, else the name of the one place it can reach. */
  readonly place: string | undefined
}

/** The address, where the input names one. */
export const addressOf = (to: Destination | undefined): OutsideAddress | undefined =>
  to && 'url' in to ? to : undefined

/**
 * A hint of being destructive counts from any plugin, trusted or not; so does a grant to write to the operator's
 * database.
 */
export const toolDestroys = (
  hints: {
    readonly destructiveHint?: boolean | undefined
    readonly readOnlyHint?: boolean | undefined
  },
  grants: { readonly database?: { readonly access: string } | undefined },
): boolean =>
  hints.destructiveHint === true ||
  (grants.database?.access === 'write' && hints.readOnlyHint !== true)

/** The open hosts that are listed by name or by a name above them; `*`, which opens every host, names none. */
export const namedHosts = ({ hosts }: Pick<NetworkRule, 'hosts'>): readonly string[] =>
  hosts.filter((host) => host !== '*')

/**
 * Why a request to a closed host is refused. The path is left out, because a redirect's path is a stranger's text.
 * The host may be hostile too, with shell signs or a star in it: the message suggests a command only for a plain
 * name.
 */
export function closedText({ method, url: text }: OutsideAddress): string {
  const { host } = new URL(text)
  const shown = capped(host, 253)
  const closed = `${method} at ${shown}, a host that this deployment has not allowed`
  return !host.includes('*') && openHost.safeParse(host).success
    ? `${closed} (an operator allows it: isola http allow ${shown})`
    : `${closed}; it cannot be allowed either, since it is no public name or has a port`
}

const maxAddressChars = 1_000

/** The closed-host text for an approver, or for a model where no approver can be asked. */
export function closedAddressText(to: OutsideAddress): string {
  // The parser's form is plain ASCII, so that it contains no hidden or reordering characters.
  const { href } = new URL(to.url)
  const what = href.length > maxAddressChars ? 'The address begins' : 'The whole address'
  return `${closedText(to)}. ${what}: ${capped(href, maxAddressChars)}`
}

/**
 * Answers to clients that send their whole conversation with each request. An assistant message from such a client
 * gets the label that this answer had when it was given.
 * @see docs/decisions/0078-what-a-client-says-we-said.md
 */
export interface ToldAnswers {
  /** Stores the texts of an answer to the last user message in `said`. Rejects if they cannot be stored. */
  readonly tell: (
    principal: string,
    answer: {
      readonly said: readonly Message[]
      readonly texts: readonly string[]
      readonly label: Label
    },
  ) => Promise<void>
  /**
   * The same messages, labelled. Never rejects: if the storage cannot be read, assistant messages get the worst
   * label.
   */
  readonly labelled: (
    principal: string,
    messages: readonly Message[],
  ) => Promise<readonly Message[]>
}
