import type { ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'
import { shipped } from './gated-run.ts'

/** Parameters that hold free text for a person: none says to whom, how much, where, or which. */
const texts = [
  'send_direct_message body',
  'send_channel_message body',
  'post_webpage content',
  'send_email subject',
  'send_email body',
  'create_calendar_event title',
  'create_calendar_event description',
  'create_calendar_event location',
  'append_to_file content',
  'create_file content',
]

const reading: ToolPolicy = { ...shipped, narrow_reading: ['*'] }

/** Hosts that the operator of these worlds has named, beside having all of them open. */
const named = [
  'www.company-todo-list.com',
  'www.dora-website.com',
  'www.eve-blog.com',
  'www.informations.com',
  'www.our-company.com',
  'www.restaurant-zurich.com',
]
const linked: ToolPolicy = {
  ...reading,
  unseen_links: ['get_webpage url'],
  network: { ...shipped.network, hosts: ['*', ...named] },
}

/** The shipped policy, and those that an operator can set, each with its figures. */
export const policies: Readonly<Record<string, ToolPolicy>> = {
  'context labels alone': shipped,
  'quarantined reading': reading,
  'quarantined reading, links to named hosts': linked,
}

/**
 * Policies that let a stranger's words through unseen, and so may do as an attacker wants: off unless an operator
 * sets them.
 */
export const lenient: Readonly<Record<string, ToolPolicy>> = {
  'the same, words unseen in texts': { ...linked, unseen_words: texts },
}
