/** Where an object or a database may be asked to be made (https://developers.cloudflare.com/durable-objects/reference/data-location/). */
export const locations = [
  'wnam',
  'enam',
  'sam',
  'weur',
  'eeur',
  'apac',
  'apac-ne',
  'apac-se',
  'oc',
  'afr',
  'me',
] as const

export type Location = (typeof locations)[number]

interface Namespace<Stub> {
  readonly getByName: (name: string, options?: { readonly locationHint: Location }) => Stub
}

/**
 * Asks for a place for objects that are made from now on; an object stays where it was made.
 *
 * @param isShared Whether the object of this name serves the whole deployment. Any other one is made near its first
 *   caller.
 */
export const placed = <N extends Namespace<unknown>>(
  namespace: N,
  location: Location | undefined,
  isShared: (name: string) => boolean = () => true,
): Pick<N, 'getByName'> =>
  location === undefined
    ? namespace
    : {
        getByName: ((name) =>
          isShared(name)
            ? namespace.getByName(name, { locationHint: location })
            : namespace.getByName(name)) as N['getByName'],
      }
