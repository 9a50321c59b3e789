import { expect, it } from 'vitest'
import type { RunOutcome } from '@/api/types'
import { bars } from './outcomes'

const run = (runId: string, visitCount: number | null) => ({ runId, status: 'SUCCESS', visitCount }) as RunOutcome

it('the last runs stand in twelve places, oldest left, the longest tallest, DAG runs low', () => {
  const drawn = bars([run('new', 20), run('middle', null), run('old', 5)])
  expect(drawn.places).toHaveLength(9)
  expect(drawn.bars.map(bar => bar.runId)).toEqual(['old', 'middle', 'new'])
  expect(drawn.bars.map(bar => bar.height)).toEqual([11, 6, 24])
  expect(drawn.bars[2]?.x).toBe(122)
})
