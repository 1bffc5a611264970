import type { LabelRule } from '#contracts/label-rules.ts'
import type { ToolPolicy } from '#contracts/tool-policy.ts'
import { shipped } from './gated-run.ts'

/** What a text is made of that somebody reads or keeps: nothing that says to whom, how much, where, or which. */
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

/** Addresses in what members of the workspace wrote are opened without asking, whoever of them wrote it. */
const links = (from: string): LabelRule => ({
  label: { from },
  sink: 'egress',
  tools: 'get_webpage',
  verdict: 'allow',
})

/** What ships, and what an operator can set, each with its figures. */
export const policies: Readonly<Record<string, ToolPolicy>> = {
  'context labels alone': shipped,
  'quarantined reading': reading,
}

/** What lets more through unseen than a stranger's numbers, dates and ids: off unless an operator sets it. */
export const lenient: Readonly<Record<string, ToolPolicy>> = {
  'quarantined reading, words unseen in texts': { ...reading, unseen_words: texts },
  'the same, and links in messages are followed': {
    ...reading,
    unseen_words: texts,
    labels: [links('read_channel_messages'), links('read_inbox'), ...shipped.labels],
  },
}
