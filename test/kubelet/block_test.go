package kubelet

import "testing"

func TestReserve_EachKubeletHasItsOwnAddresses(t *testing.T) {
	var taken []block
	for range 3 {
		b, err := reserve()
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range taken {
			if b.number == other.number {
				t.Errorf("two kubelets have block %d", b.number)
			}
		}
		taken = append(taken, b)
	}
	first := taken[0]
	for _, b := range taken {
		_ = b.held.Close()
	}
	again, err := reserve()
	if err != nil || again.number != first.number {
		t.Errorf("block %d, want %d, which is free again; %v", again.number, first.number, err)
	}
	_ = again.held.Close()
}
