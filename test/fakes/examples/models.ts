import type { ScriptFunction } from '../model-server.mjs'
import { conversationOf, type Conversation, type Play } from './conversation.ts'
import { chat, retrievalQa, supportBilling, supportCopilot, supportTechnical } from './desk.ts'
import { bugReporter, bugReproduce, bugSearch, releaseNotes } from './flows.ts'
import {
  briefingDraft,
  briefingFacts,
  dataCleanup,
  incidentDrill,
  incidentTriage,
  workflow,
} from './work.ts'

/** The script of each agent, by the heading of its prompt: each does as its prompt says, without a model. */
export const plays: Readonly<Record<string, Play>> = {
  Chat: chat,
  'Document answers': retrievalQa,
  'Data cleanup': dataCleanup,
  'Briefing workflow': workflow,
  'Briefing, step 1: facts': briefingFacts,
  'Briefing, step 2: draft': briefingDraft,
  'Briefing, step 3: check': () => ({ text: 'Nothing to object to.' }),
  'Incident triage': incidentTriage(false),
  'Incident drill': incidentDrill,
  'Support of Example Ltd': supportCopilot,
  'Support, billing': supportBilling,
  'Support, technical': supportTechnical,
  'Release notes': releaseNotes,
  'Bug reporter': bugReporter,
  'Bug search': bugSearch,
  'Bug reproduction': bugReproduce,
}

/** A model server's script with all of them; `instead` is asked first. */
export function exampleScript(
  instead: (conversation: Conversation) => Play | undefined = () => undefined,
): ScriptFunction {
  return ({ body }) => {
    const conversation = conversationOf(body)
    const play = instead(conversation) ?? plays[conversation.agent]
    if (!play) throw new Error(`Nobody plays "${conversation.agent}".`)
    return play(conversation)
  }
}
