import type { MemoryOwners } from './types.ts'
import type { AskProvider } from '#contracts/provider.ts'
import type { Rotation } from '#features/access/types/secrets.ts'
import { createKnowledgeStore } from './knowledge/knowledge-store.ts'
import { createKnowledgeTools, type KnowledgeToolDeps } from './knowledge/knowledge-tool.ts'
import { createDocumentReader } from './knowledge/read-document.ts'
import {
  createMemoryGateway,
  type MemoryGatewayDeps,
  redacted,
  joinRotations,
  rotateKeys,
} from './long-term/memory-gateway.ts'
import type { NoteStoreDeps } from './long-term/note-book.ts'
import { createNoteStore } from './long-term/note-store.ts'
import { createRunMemory, type RunMemoryDeps } from './long-term/run-memory.ts'
import type { NoteStorage } from './long-term/note-rows.ts'
import { createProvided } from './provided.ts'
import { createPromptStore } from './prompt-store.ts'
import { createScratchpad } from './scratchpad.ts'

type ScratchpadParts = Parameters<typeof createScratchpad>[0]

/** The dependencies of memory. */
interface MemoryParts
  extends Pick<ScratchpadParts, 'buildIndex'>, MemoryGatewayDeps, NoteStoreDeps {
  readonly memoryOwners: MemoryOwners
  /** Asks the plugin that stands in for what is built in. */
  readonly askProvider: AskProvider
  /** Takes out of a text the secrets that this deployment knows. */
  readonly redact: (text: string) => string
}

/** Prompts, scratchpads, long-term memory and documents, for the composition. */
export function composeMemory({ buildIndex, ...parts }: MemoryParts) {
  const gateways = createMemoryGateway(parts)
  const { memory, knowledge } = createProvided(gateways, parts.askProvider)
  const gateway = redacted(memory, parts.redact)
  return {
    createPrompts: createPromptStore,
    createMemory: (storage: ScratchpadParts['storage'], streamOf: ScratchpadParts['streamOf']) =>
      createScratchpad({ storage, buildIndex, streamOf, redact: parts.redact }),
    longTerm: gateway,
    knowledge: { ...knowledge, read: createDocumentReader(() => parts.clock.sleep(0)) },
    knowledgeTools: (settingsOf: KnowledgeToolDeps['settingsOf']) =>
      createKnowledgeTools({ gateway: knowledge, settingsOf }),
    /** Seals the keys of all notes anew, and the values of other rooms. */
    rotate: async (others: () => Promise<Rotation>) =>
      joinRotations(await others(), await rotateKeys(gateways, parts.memoryOwners)),
    around: (deps: Pick<RunMemoryDeps, 'countTokens' | 'onFault'>) =>
      createRunMemory({ ...parts, ...deps, gateway, knowledge }),
    createNotes: (storage: NoteStorage, owner: string) => createNoteStore(storage, owner, parts),
    createDocuments: (storage: NoteStorage, owner: string) =>
      createKnowledgeStore(storage, owner, parts),
  }
}
