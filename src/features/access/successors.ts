/** A key or sign-in that may have a successor. */
interface Followed {
  readonly followedBy?: string
}

/** How many successors are followed. Bounded, since rows that follow one another in a ring would never end. */
const maxSteps = 32

/**
 * The key or sign-in in force for an id: itself while it holds, else its nearest successor that holds. `undefined` if
 * there is no such row; the last one of the chain if none holds.
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
