/** What may be taken by another one of its kind. */
interface Followed {
  readonly followedBy?: string
}

/** So many times in a row, and whoever made them in a ring is not followed for ever. */
const maxSteps = 32

/**
 * The key or sign-in that stands for one: itself while it holds, else what took its place. `undefined` if it is not
 * there; one that does not hold if nothing took its place.
 */
export async function inForce<One extends Followed>(
  id: string,
  find: (id: string) => Promise<One | undefined>,
  holds: (one: One) => boolean,
): Promise<One | undefined> {
  let one = await find(id)
  for (let step = 0; one && !holds(one) && one.followedBy && step < maxSteps; step += 1)
    one = await find(one.followedBy)
  return one
}
