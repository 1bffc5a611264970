import { type ResourceListing, parseUriTemplate } from '#contracts/manifest/manifest-offers.ts'
import { matchUriTemplate } from '#features/plugins/types/uri-template.ts'
import type { Inventory } from './offered.ts'
import { isOfSkill } from './skills.ts'

/** The resources of all plugins and servers that a caller may read, each with one owner. */
interface OfferedResources {
  readonly listed: readonly ResourceListing[]
  /** URIs and templates of several owners: none of them is offered. */
  readonly contested: readonly { readonly uri: string; readonly owners: readonly string[] }[]
  /** The one owner that has this URI, exactly or by a template; `undefined` if several have it. */
  readonly ownerOf: (uri: string) => string | undefined
}

/**
 * Resources of the owners that an operator named. A client knows a resource by its URI alone, so a URI with two
 * owners is offered by neither: else a server could answer for another server's resource. Under our scheme, and under
 * the URI of an offered skill, no plugin and no server has a resource.
 */
export function offeredResources({
  exposed,
  offers,
  skills,
}: Pick<Inventory, 'exposed' | 'offers' | 'skills'>): OfferedResources {
  const isOurs = (uri: string): boolean => /^isola:/i.test(uri) || isOfSkill({ skills }, uri)
  const named = offers.resources.filter(({ owner }) => exposed.resources.includes(owner))
  const possible = named.filter(({ uri }) => !isOurs(uri))
  const ownersOf = createOwnersOf(possible)
  const isContested = (listing: ResourceListing) => ownersOf(listing).length > 1
  const contested = possible.filter(isContested).map((one) => [one.uri, ownersOf(one)] as const)
  return {
    listed: possible.filter((listing) => !isContested(listing)),
    contested: [...new Map(contested)].map(([uri, owners]) => ({ uri, owners })),
    ownerOf: (uri) => {
      const [owner, another] = ownersOf({ uri, isTemplate: false })
      return isOurs(uri) || another !== undefined ? undefined : owner
    },
  }
}

type Named = Pick<ResourceListing, 'uri' | 'isTemplate'>

/** The owners of a URI, exactly or by a template, or of a template of the same form. */
function createOwnersOf(all: readonly ResourceListing[]): (named: Named) => readonly string[] {
  const same = Map.groupBy(all, formOf)
  const templates = all.flatMap((listing) => {
    const template = listing.isTemplate ? parseUriTemplate(listing.uri) : ''
    return typeof template === 'string' ? [] : [{ ...listing, template }]
  })
  return (named) => {
    const fitting = named.isTemplate
      ? []
      : templates.filter(({ template }) => matchUriTemplate(template, named.uri) !== undefined)
    const having = [...(same.get(formOf(named)) ?? []), ...fitting]
    return [...new Set(having.map(({ owner }) => owner))].toSorted()
  }
}

/** Templates that differ in the names of their variables only take the same URIs. */
const formOf = ({ uri, isTemplate }: Named): string =>
  isTemplate ? `template ${uri.replace(/\{[^{}]*\}/g, '{}')}` : uri

const maxNotes = 20

/** Notes for the operator: named resources that are not offered. */
export function contestedNotes({ contested }: OfferedResources): readonly string[] {
  const notes = contested.map(
    ({ uri, owners }) =>
      `${owners.join(' and ')} have the resource ${uri}: none of them offers it.`,
  )
  const more = notes.length - maxNotes
  return more > 0 ? [...notes.slice(0, maxNotes), `… and ${more} more resources.`] : notes
}
