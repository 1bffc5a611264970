import type { ProviderKind } from '#contracts/provider.ts'

/** In words, for whoever allows it and whoever reads its error. */
export const providerTexts: Readonly<Record<ProviderKind, string>> = {
  memory: 'keeps what agents remember',
  knowledge: 'keeps the documents that agents look things up in',
  context: 'chooses what of a long conversation a model reads',
}
