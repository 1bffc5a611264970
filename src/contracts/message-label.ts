import { clientSource, joinLabels, labelFrom, ownLabel, saidLabel, type Label } from './label.ts'
import type { Message, TaintLabel } from './message.ts'

/** Material that was given with a task: its principal vouches for it, its author may be unknown. */
const materialLabel = labelFrom('the material of the task', { integrity: 'data' })

/**
 * The label of a message as it came in or was stored. A message without a label is labelled by its origin: the text
 * of a person or a client is the user's, its material the principal's, and its report of a tool's result a client's.
 * An assistant's text has the label of its own context, which is all around it.
 */
export function labelOf(message: Message): Label {
  if (message.label) return message.label
  if (message.role === 'system') return ownLabel
  return joinLabels(message.taint.map((one) => labelOfOrigin(one, message)))
}

type Said = Exclude<Message, { readonly role: 'system' }>

function labelOfOrigin(origin: TaintLabel, { role, taint }: Said): Label {
  switch (origin) {
    case 'operator':
      return ownLabel
    case 'user':
      return saidLabel
    case 'context':
      return materialLabel
    case 'model':
      return role === 'assistant' ? ownLabel : labelFrom('another agent')
    default: {
      const tool = origin.slice('tool:'.length)
      // A client chooses the name of the tool whose result it reports.
      return labelFrom(role === 'tool' && taint.includes('user') ? clientSource(tool) : tool)
    }
  }
}

/** The label of a whole transcript. */
export const labelOfAll = (messages: readonly Message[]): Label => joinLabels(messages.map(labelOf))
