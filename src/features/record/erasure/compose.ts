import { createErasures, type ErasureParts } from './erasures.ts'
import { createPlaces, type PlaceParts } from './places.ts'

/** Parts of the erasure of persons: each place is an entry of one list. */
export interface ErasureRoomParts
  extends
    Omit<ErasureParts, 'places'>,
    Omit<PlaceParts, 'sessionRows' | 'emptyObject' | 'subscribers' | 'strangeSessions'> {
  readonly rows: {
    readonly store: ErasureParts['store']
    readonly sessionRows: PlaceParts['sessionRows']
    readonly subscribers: PlaceParts['subscribers']
    readonly strangeSessions: PlaceParts['strangeSessions']
    readonly tables: ErasureParts['places']
    readonly record: ErasureParts['places']
  }
  readonly principals: Pick<ErasureParts, 'lookHeld'> & {
    readonly empty: PlaceParts['emptyObject']
    readonly erase: ErasureParts['wake']
  }
}

/** Sessions first, since they still write to the record and to the principal's object; the record last. */
export const composeErasures = ({
  rows,
  principals,
  ...parts
}: Omit<ErasureRoomParts, 'store' | 'lookHeld' | 'wake'>) => {
  const elsewhere = createPlaces({ ...parts, ...rows, emptyObject: principals.empty })
  return createErasures({
    ...parts,
    store: rows.store,
    lookHeld: principals.lookHeld,
    wake: principals.erase,
    places: [...elsewhere, ...rows.tables, ...rows.record],
  })
}
