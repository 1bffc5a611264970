import type { ProviderKind } from '#contracts/provider.ts'

/** The texts that an operator who grants the kind and a reader of its errors see. */
export const providerTexts: Readonly<Record<ProviderKind, string>> = {
  memory: 'keeps what agents remember',
  knowledge: 'keeps the documents that agents look things up in',
  context: 'chooses what of a long conversation a model reads',
}
