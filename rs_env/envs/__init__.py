"""The environments: wiring between the engine and the interfaces of PettingZoo and Gymnasium, and the batch for self-
play.
"""
