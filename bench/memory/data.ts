import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { NewNote } from '../../src/contracts/long-term.ts'

/** A turn as a note, by the id that questions name it by. */
export interface Turn {
  readonly id: string
  readonly note: NewNote
}
/** A question, and the turns that answer it. */
export interface Question {
  readonly text: string
  readonly evidence: readonly string[]
}
export interface Conversation {
  readonly name: string
  readonly turns: readonly Turn[]
  readonly questions: readonly Question[]
}

interface RawTurn {
  readonly dia_id: string
  readonly speaker: string
  readonly text?: string
  readonly blip_caption?: string
}
interface RawQuestion {
  readonly question: string
  readonly evidence?: readonly string[]
}
type Raw = Readonly<Record<string, unknown>>

/** Conversations of LoCoMo: one a file, or all in one (`locomo10.json`), in the order of their names. */
export function loadConversations(folder: string): readonly Conversation[] {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
  const found = files.flatMap((file) => {
    const raw = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Raw | readonly Raw[]
    return Array.isArray(raw)
      ? (raw as readonly Raw[]).map((one) => toConversation(String(one['sample_id']), one))
      : [toConversation(basename(file, '.json'), raw as Raw)]
  })
  const conversations = found.filter(({ questions }) => questions.length > 0)
  if (conversations.length === 0)
    throw new Error(`--data ${folder}: no conversation of LoCoMo in it.`)
  return conversations
}

function toConversation(name: string, raw: Raw): Conversation {
  const said = (raw['conversation'] ?? raw) as Raw
  const sessions = Object.keys(said)
    .filter((key) => /^session_\d+$/.test(key) && Array.isArray(said[key]))
    .toSorted((one, other) => Number(one.slice(8)) - Number(other.slice(8)))
  const turns = sessions.flatMap((session) =>
    (said[session] as readonly RawTurn[]).map(({ dia_id: id, speaker, text, blip_caption }) => ({
      id,
      note: {
        text: text?.trim() ? text : (blip_caption ?? '…'),
        speaker,
        kind: 'turn' as const,
        conversation: session,
        date: String(said[`${session}_date_time`] ?? ''),
        ...(blip_caption !== undefined && { caption: blip_caption }),
      },
    })),
  )
  const known = new Set(turns.map(({ id }) => id))
  const questions = ((raw['qa'] ?? []) as readonly RawQuestion[]).map((one) => ({
    text: one.question,
    evidence: [...new Set((one.evidence ?? []).flatMap((id) => id.split(/[;,\s]+/)))].filter((id) =>
      known.has(id),
    ),
  }))
  return { name, turns, questions: questions.filter(({ evidence }) => evidence.length > 0) }
}
