import type { LongTermMemory, MemoryGateway, MemoryRequest, NewNote } from '#contracts/long-term.ts'

type Redact = (text: string) => string

/** Memory that keeps no secret which this deployment knows, for every writer (C5). */
export const redacted = (gateway: MemoryGateway, redact: Redact): MemoryGateway => ({
  ofPrincipal: (principal) => toRedacted(gateway.ofPrincipal(principal), redact),
  ofDeployment: () => toRedacted(gateway.ofDeployment(), redact),
})

const toRedacted =
  (memory: LongTermMemory, redact: Redact): LongTermMemory =>
  (request) =>
    memory(withoutSecrets(request, redact))

function withoutSecrets(request: MemoryRequest, redact: Redact): MemoryRequest {
  if (request.verb === 'add')
    return { ...request, notes: request.notes.map((note) => cleared(note, redact)) }
  if (request.verb === 'edit') return { ...request, change: cleared(request.change, redact) }
  return request
}

const cleared = <One extends Partial<Pick<NewNote, (typeof told)[number]>>>(
  note: One,
  redact: Redact,
): One => ({
  ...note,
  ...Object.fromEntries(
    told.flatMap((field) => {
      const value = note[field]
      // A value that is no text is refused later, by the name of its field.
      return typeof value === 'string' ? [[field, redact(value)]] : []
    }),
  ),
})
const told = ['text', 'speaker', 'caption', 'date'] as const
