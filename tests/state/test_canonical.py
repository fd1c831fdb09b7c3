from duologue.state.canonical import contract_hash, digest


def test_the_session_is_no_part_of_the_contract_hash_and_is_one_of_the_digest() -> None:
    db = {"order": {"status": "open"}}
    assert contract_hash({**db, "session": {"id": 1}}) == contract_hash(db)
    assert digest({**db, "session": {"id": 1}}) != digest(db)
