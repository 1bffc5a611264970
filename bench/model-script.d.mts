// Types of model-script.mjs, for benches that are TypeScript.
import type { ChatMessage, Reply } from '../test/fakes/model-server.d.mts'

export function reply(request: {
  readonly body: { readonly messages: readonly ChatMessage[] }
}): Reply
